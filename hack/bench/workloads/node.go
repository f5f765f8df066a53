package workloads

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/podmanager/hack/bench/census"
	"github.com/mycompany/podmanager/hack/bench/figures"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// runRealNode creates pods whose containers run, and changes their image. The contenders are the same as in runRollout, plus a Deployment without
// surge pods.
func (b *Bench) runRealNode(ctx context.Context) error {
	if err := b.warmUp(ctx); err != nil {
		return fmt.Errorf("trying the images: %w", err)
	}
	replaced, deployments := b.managers.hasty(), *b.deployments
	replaced.template, deployments.template = webTemplate, webTemplate
	changed, sameBudget := *replaced, deployments
	changed.policy, sameBudget.noSurge = v1.InPlaceIfPossible, true
	return b.inTurn(ctx, []contender{&changed, &sameBudget, &deployments, replaced}, func(s *step) error {
		s.grace = nil // without a grace period, the kubelet ends containers after their pods are gone, which would count for the next contender
		if err := s.measureCreate(ctx, figures.RealCreate, 1, b.sizes.RealNode); err != nil {
			return err
		}
		return s.measureRealUpdate(ctx, b.sizes.RealNode)
	})
}

// warmUp runs each image once, because the first container of an image takes longer with any contender.
func (b *Bench) warmUp(ctx context.Context) error {
	if b.warm {
		return nil
	}
	images := []string{oldWeb, newWeb}
	err := b.inTurn(ctx, []contender{b.bare}, func(s *step) error {
		s.grace = nil
		for i, image := range images {
			of := webTemplate("warm")
			of.Spec.Containers[0].Image = image
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("warm-%d", i)}, Spec: of.Spec}
			if _, err := b.kube.CoreV1().Pods(s.spaces[0]).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
				return err
			}
		}
		_, err := b.censuses.Pods.Expect(census.AllReady(len(images)), s.spaces...).Await(ctx, nodePatience, "the pods are ready")
		return err
	})
	b.warm = err == nil
	return err
}

// nodePatience is how long 20 containers may take to start or to change.
const nodePatience = 5 * time.Minute

// measureRealUpdate changes the image of existing pods. It also records how many pods are available meanwhile, and which pods and addresses are
// kept.
func (s *step) measureRealUpdate(ctx context.Context, pods int) error {
	if _, err := s.awaitStatuses(ctx, census.AllGood(1), "the pods are known to be good"); err != nil {
		return err
	}
	if _, err := s.awaitQuiet(ctx); err != nil {
		return err
	}
	before, err := s.listPods(ctx)
	if err != nil {
		return err
	}
	if err := s.mark(ctx); err != nil {
		return err
	}
	endAvailable, endActive := s.censuses.Pods.Follow(census.Available, s.spaces...), s.censuses.Pods.Follow(census.Active, s.spaces...)
	values, err := s.timeUpdate(ctx, pods)
	least, _ := endAvailable()
	_, most := endActive()
	if err != nil {
		return err
	}
	after, err := s.listPods(ctx)
	if err != nil {
		return err
	}
	values[figures.PodCount], values[figures.AddressesKept] = float64(pods), float64(samePlaces(before, after))
	values[figures.LeastAvailable], values[figures.MostPods] = float64(least), float64(most)
	taken, err := s.take(ctx, values)
	if err != nil {
		return err
	}
	s.add(figures.RealUpdate, fmt.Sprintf("update %d on a real node", pods), taken, figures.UpdateTime, figures.OldGoneTime)
	s.say("  %-10s  %-20s at least %.0f available, at most %.0f pods, addresses kept: %.0f of %d", "",
		s.contender.name(), values[figures.LeastAvailable], values[figures.MostPods], values[figures.AddressesKept], pods)
	return nil
}

// timeUpdate changes the image, and waits until all pods run the new one, the status reports that, and the last old pod is gone.
func (s *step) timeUpdate(ctx context.Context, pods int) (figures.Values, error) {
	updated := s.censuses.Pods.Expect(census.AllReplaced(pods, newWeb), s.spaces...)
	oldGone := s.censuses.Pods.Expect(census.AllUpdated(pods, newWeb), s.spaces...)
	s.began = time.Now()
	if err := s.contender.update(ctx, s.spaces[0], 0, newWeb); err != nil {
		return nil, err
	}
	at, err := updated.Await(ctx, nodePatience, "all pods are updated and ready")
	if err != nil {
		return nil, err
	}
	values := figures.Values{figures.UpdateTime: s.since(at)}
	if err := s.timeSettled(ctx, 1, values); err != nil {
		return nil, err
	}
	at, err = oldGone.Await(ctx, nodePatience, "the old pods are gone")
	values[figures.OldGoneTime] = s.since(at)
	return values, err
}

// listPods returns the pods of the step.
func (s *step) listPods(ctx context.Context) ([]corev1.Pod, error) {
	list, err := s.kube.CoreV1().Pods(s.spaces[0]).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		if list.Items[i].Status.PodIP == "" {
			return nil, errors.New(list.Items[i].Name + " has no address")
		}
	}
	return list.Items, nil
}

// samePlaces counts the pods that still exist with the same address. Another pod at an old address does not count: clients notice that the address
// was free for a moment.
func samePlaces(before, after []corev1.Pod) int {
	addresses := map[string]string{}
	for i := range before {
		addresses[string(before[i].UID)] = before[i].Status.PodIP
	}
	same := 0
	for i := range after {
		if had, found := addresses[string(after[i].UID)]; found && had == after[i].Status.PodIP {
			same++
		}
	}
	return same
}
