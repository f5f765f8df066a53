package scenarios

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mycompany/podmanager/hack/chaos/testenv"
	"github.com/mycompany/podmanager/hack/test/harness/faults"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// conversionFaults are in the order in which they are injected. While the webhook hangs, the first write in v1 to an object that was once written
// in v1alpha1 waits for 30 s, as artifacts/README.md explains. Therefore this fault comes before there is such an object.
var conversionFaults = []lab.WebhookFault{lab.WebhookHangs, lab.WebhookDead, lab.WebhookBabbles, lab.WebhookExpired}

// conversionBreaks breaks the webhook that converts between the versions of the API, in one way after the other, while users churn and roll out.
// Only clients that use v1alpha1 may notice. Users of v1, a running or starting controller, the garbage collector, and a client that deletes a
// namespace must not.
func conversionBreaks(a scene) {
	conversion, err := a.Cluster.Convert(a.Ctx)
	a.Must(err)
	defer func() {
		if err := conversion.Remove(); err != nil {
			a.Logf("cannot remove v1alpha1: %v", err)
		}
	}()
	a.Start()
	for i, fault := range conversionFaults {
		beside := a.branch(fmt.Sprint(i))
		a.whileConversion(fault, conversion, beside)
		beside.Close()
	}
	a.Settle()
	a.Judge()
}

// whileConversion lets users churn while the conversion has a fault, and runs goOnInV1 in the test environment meanwhile.
func (a scene) whileConversion(fault lab.WebhookFault, conversion *lab.Conversion, beside scene) {
	a.churnFor(time.Second, func(ctx context.Context) { <-ctx.Done() })
	beside.Create("web", 3, testenv.OwnerOptions{})
	beside.Create(usersObject, 0, testenv.OwnerOptions{})
	if fault != lab.WebhookHangs {
		a.touchInAlpha()
		beside.touchInAlpha()
	}
	conversion.Break(fault)
	a.Logf("the conversion webhook's fault: %s", fault)
	ctx, stop := context.WithCancel(a.Ctx)
	a.InParallel(func() { a.Churn(ctx) }, func() {
		defer stop()
		beside.goOnInV1(conversion)
	})
	conversion.Break(lab.WebhookSound)
	a.expect("I3", "v1alpha1", fmt.Sprintf("requests in v1alpha1 to succeed after a fault (%s)", fault), 30*time.Second, func() (string, bool) {
		err := conversion.Try(a.Ctx, a.Namespace)
		return fmt.Sprint(err), err == nil
	})
}

// touchInAlpha writes all PodManagers in v1alpha1, so that the API server compares both versions in later writes.
func (a scene) touchInAlpha() {
	for name := range a.Wants() {
		a.Insist(func() error {
			_, err := a.Cluster.Managers.AppsV1alpha1().PodManagers(a.Namespace).Patch(a.Ctx, name, types.MergePatchType,
				[]byte(`{"metadata":{"annotations":{"written-in":"v1alpha1"}}}`), metav1.PatchOptions{})
			return err
		})
	}
}

// goOnInV1 starts a controller while nothing can be converted, rolls out, deletes an owner and then the namespace. Meanwhile a user reads and
// writes in v1.
func (a scene) goOnInV1(conversion *lab.Conversion) {
	tryAlpha := func() error {
		ctx, cancel := context.WithTimeout(a.Ctx, 3*time.Second)
		defer cancel()
		return conversion.Try(ctx, a.Namespace)
	}
	if tryAlpha() == nil {
		a.Must(errors.New("v1alpha1 is served, although nothing can be converted"))
	}
	ctx, stop := context.WithCancel(a.Ctx)
	a.InParallel(func() { a.useV1(ctx) }, func() {
		defer stop()
		a.Start()
		a.settleSoon("after the start, while nothing can be converted")
		a.Update("web", "nginx:1.28")
		a.settleSoon("after an update, while nothing can be converted")
		a.Remove("web")
		a.settleSoon("after the deletion of web, while nothing can be converted")
		a.Create("last", 3, testenv.OwnerOptions{Spec: testenv.Paced})
		a.settleSoon("after a creation, while nothing can be converted")
	})
	if tryAlpha() == nil {
		a.Must(errors.New("v1alpha1 was served before everything was done"))
	}
	a.Judge()
	a.deleteSpace()
}

// settleSoon expects the pods and the status to be as requested within 20 s, while a webhook is broken.
func (a scene) settleSoon(when string) {
	began := time.Now()
	for _, problem := range a.AwaitSettled(20 * time.Second) {
		problem.What = when + ": " + problem.What
		a.Violate(problem)
	}
	a.Logf("%s: waited %v for everything to be as wanted", when, time.Since(began).Round(time.Millisecond))
}

// usersObject is the PodManager of useV1.
const usersObject = "users"

// useV1 reads and writes a PodManager until ctx is done. Each request must succeed quickly.
func (a scene) useV1(ctx context.Context) {
	const limit = 5 * time.Second
	requests := 0
	for ; ctx.Err() == nil; lab.Pause(ctx, 200*time.Millisecond) {
		each, cancel := context.WithTimeout(a.Ctx, limit)
		_, err := a.Contender.Owners(each, a.Namespace)
		if err == nil {
			err = a.Contender.Patch(each, a.Namespace, usersObject, fmt.Sprintf(`{"metadata":{"annotations":{"count":"%d"}}}`, requests))
		}
		cancel()
		if err != nil && a.Ctx.Err() == nil {
			a.Violate(faults.Violation{Invariant: "I3", Object: usersObject, What: "a request in v1 fails:  " + err.Error()})
		}
		requests += 2
	}
	a.Logf("%d requests in v1", requests)
	a.Remove(usersObject)
}

// deleteSpace deletes the namespace with its content, and expects it to be gone. If an object has a finalizer, this takes half a minute, because the
// namespace controller waits that long between two attempts.
func (a scene) deleteSpace() {
	for name := range a.Wants() {
		a.Unset(name)
	}
	began := time.Now()
	a.Must(a.Cluster.Kube.CoreV1().Namespaces().Delete(a.Ctx, a.Namespace, metav1.DeleteOptions{}))
	gone := a.expect("I2", a.Namespace, "the namespace to be gone, while nothing can be converted", testenv.SettleLimit, func() (string, bool) {
		namespace, err := a.Cluster.Kube.CoreV1().Namespaces().Get(a.Ctx, a.Namespace, metav1.GetOptions{})
		return fmt.Sprint(namespace.Status.Conditions), apierrors.IsNotFound(err)
	})
	a.Logf("the namespace was deleted: %v (waited %v)", gone, time.Since(began).Round(time.Millisecond))
}

// webhookFaults are in the order in which they are injected.
var webhookFaults = []lab.WebhookFault{lab.WebhookDead, lab.WebhookBabbles, lab.WebhookExpired, lab.WebhookHangs}

// webhookBreaks breaks the webhook that validates every PodManager, in one way after the other, while users churn and roll out. The API server
// admits PodManagers although its calls of the webhook fail. The controller must not notice, and must finish its work in the meantime. When the
// webhook works again, the API server must call it again.
func webhookBreaks(a scene) {
	webhook, err := a.Cluster.Validate(a.Ctx, a.Namespace, a.Contender.Kubeconfig(), a.Namespace)
	a.Must(err)
	defer func() {
		if err := webhook.Remove(); err != nil {
			a.Logf("cannot remove the webhook: %v", err)
		}
	}()
	each := 15 * time.Second
	if a.Short {
		each = 7 * time.Second // longer than the API server waits for an answer
	}
	a.Start()
	for _, fault := range webhookFaults {
		webhook.Break(fault)
		a.Logf("the webhook's fault: %s", fault)
		a.churnFor(each, func(ctx context.Context) { <-ctx.Done() })
		a.settleSoon(fmt.Sprintf("with a webhook that is broken (%s)", fault))
		webhook.Break(lab.WebhookSound)
		calls := webhook.Calls.Load()
		a.churnFor(each/4, func(ctx context.Context) { <-ctx.Done() })
		a.expect("I5", "webhook", fmt.Sprintf("calls of the webhook after a fault (%s)", fault), 30*time.Second, func() (string, bool) {
			a.ChurnOnce()
			now := webhook.Calls.Load()
			return fmt.Sprint(now-calls, " calls"), now > calls
		})
	}
	a.Settle()
	a.Judge()
}
