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

// trialIndex is the index of the pod that is tried. No real pod has it, since those take the lowest index that is free: an API server
// refuses the name of a pod that exists in a dry run, too. No index is longer, so that a name that is too long is found.
const trialIndex = math.MaxInt32

// crowded is why a pod is not tried if the webhook is busy.
const crowded = "too many others are being tried"

// podToTry is the pod of the PodManager's present template, as the controller makes it, but for the owner: it may not exist yet.
func (h *Handler) podToTry(manager *v1.PodManager) *corev1.Pod {
	revision := history.Find(history.Sources{Manager: manager}).Update
	pod := plan.NewPod(manager, plan.Creation{Index: trialIndex, Revision: revision, Ungated: h.means.PatchesOnly})
	pod.OwnerReferences = nil
	return pod
}

// try sends the pod as a dry-run create, and tells what the answer means.
func (h *Handler) try(ctx context.Context, manager *v1.PodManager, pod *corev1.Pod) verdict {
	select {
	case h.turns <- struct{}{}:
		defer func() { <-h.turns }()
	case <-ctx.Done():
	}
	if ctx.Err() != nil { // a turn may have come at the same moment
		return notTried(crowded)
	}
	// The options are those with which the controller creates pods, and dry run. A second try would only add to the load of an API server
	// that is too busy for the first.
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
	case errors.As(err, &unreachable): // without the URL, which tells the user nothing
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
