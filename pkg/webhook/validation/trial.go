package validation

import (
	"context"
	"errors"
	"math"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/history"
)

// trialIndex is the index of the pod that is tried. A real pod never has it, because real pods get the lowest free index. Even in a dry run, the
// API server refuses the name of an existing pod. No index is longer, so that a name that would be too long is detected.
const trialIndex = math.MaxInt32

// crowded is the reason for not trying a pod if the webhook is busy.
const crowded = "the webhook is checking too many other PodManagers"

// podToTry returns the pod of the PodManager's current template as the controller creates it, but without the owner, which may not exist yet.
func (h *Handler) podToTry(manager *v1.PodManager) *corev1.Pod {
	revision := history.Find(history.Sources{Manager: manager}).Update
	pod := plan.NewPod(manager, plan.Creation{Index: trialIndex, Revision: revision, Ungated: !h.capabilities.CanResizeAndDrain})
	pod.OwnerReferences = nil
	return pod
}

// try sends the pod as a dry-run create, and interprets the response.
func (h *Handler) try(ctx context.Context, manager *v1.PodManager, pod *corev1.Pod) verdict {
	select {
	case h.turns <- struct{}{}:
		defer func() { <-h.turns }()
	case <-ctx.Done():
	}
	if ctx.Err() != nil { // a turn may have come at the same moment
		return notTried(crowded)
	}
	// The options are those with which the controller creates pods, plus dry run. There are no retries: they would add load to an API server that
	// is already too busy.
	answer := h.kube.CoreV1().RESTClient().Post().Namespace(pod.Namespace).Resource("pods").
		VersionedParams(&metav1.CreateOptions{
			DryRun: []string{metav1.DryRunAll}, FieldManager: v1.ControllerName, FieldValidation: metav1.FieldValidationIgnore,
		}, scheme.ParameterCodec).
		MaxRetries(0).WarningHandlerWithContext(rest.NoWarnings{}).Body(pod).Do(ctx)
	err := answer.Error()
	var unreachable *url.Error
	switch {
	case err != nil && ctx.Err() != nil:
		return notTried("the API server has not answered in time")
	case errors.As(err, &unreachable): // omit the URL, which does not help the user
		return notTried(unreachable.Err.Error())
	case err != nil:
		return tried{manager, pod}.failed(err)
	}
	var texts []string
	for _, header := range answer.Warnings() {
		texts = append(texts, header.Text)
	}
	return tried{manager, pod}.warned(texts)
}
