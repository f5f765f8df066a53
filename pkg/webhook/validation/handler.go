package validation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	klog "k8s.io/klog/v2"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/bounds"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
)

const (
	// maxName is how long a name may be. API servers refuse longer ones.
	maxName = 253
	// longestCall is timeoutSeconds of the webhook's configuration. A shorter one is in the query of each call.
	longestCall = 5 * time.Second
	// margin is how much sooner there is an answer: one that comes too late is none, and its warning is lost.
	margin = 500 * time.Millisecond
	// maxObjects is how many bytes of objects are looked at at a time. To compare an old and a new one and to make a pod takes up to 50 times
	// as much memory. Of the usual size of 10 KiB, there is room for 200; what finds no room is allowed with a warning.
	maxObjects = 2 << 20
	// maxTrials is how many pods are tried at a time. More would make an API server slower that is busy already: it has the
	// applies themselves to serve.
	maxTrials = 10
)

// Handler answers the AdmissionReviews that the API server sends for PodManagers. A call has no side effects, so that the API server may make
// one for a dry run, too.
type Handler struct {
	kube   kubernetes.Interface
	serves func(*v1.PodManager) bool
	means  inplace.Means
	// turns has an element for each trial under way.
	turns chan struct{}
	// looking is the size of all objects that are being looked at.
	looking atomic.Int64
}

// New is the handler. Its client has the controller's rights, since the controller makes the pods, and should have a rate limiter of its
// own: neither may a storm of applies delay the controller, nor the other way round. Only the PodManagers that the controller serves are
// looked at: elsewhere it may not even create pods. Its means are the controller's, too: they decide about the readiness gate of a pod.
func New(kube kubernetes.Interface, serves func(*v1.PodManager) bool, means inplace.Means) *Handler {
	return &Handler{kube: kube, serves: serves, means: means, turns: make(chan struct{}, maxTrials)}
}

// Within tells which PodManagers a controller serves that works in these namespaces, or in all if one is metav1.NamespaceAll, and keeps
// to a selector.
func Within(namespaces []string, selector labels.Selector) func(*v1.PodManager) bool {
	inAll := slices.Contains(namespaces, metav1.NamespaceAll)
	return func(manager *v1.PodManager) bool {
		return (inAll || slices.Contains(namespaces, manager.Namespace)) && selector.Matches(labels.Set(manager.Labels))
	}
}

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), timeFor(r))
	defer cancel()
	asked, err := readReview(r.Body)
	if err != nil {
		// Not from an API server that asks about admission. If it is one nevertheless, of a later version or so, this is a failed call, and
		// failurePolicy says what becomes of that.
		http.Error(w, bounds.Short(err.Error()), http.StatusBadRequest)
		return
	}
	found := h.judge(ctx, asked)
	answer := review{Response: &response{UID: asked.UID, Allowed: found.refusal == nil, Status: found.refusal, Warnings: found.warnings}}
	answer.APIVersion, answer.Kind = reviewVersion, reviewKind
	data, err := json.Marshal(answer)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", runtime.ContentTypeJSON)
	_, _ = w.Write(data) // nobody is left to tell
}

// timeFor is how long an answer may take.
func timeFor(r *http.Request) time.Duration {
	call, err := time.ParseDuration(r.URL.Query().Get("timeout"))
	if err != nil || call <= 0 || call > longestCall {
		call = longestCall
	}
	return call - min(margin, call/4)
}

func readReview(body io.Reader) (*request, error) {
	data, err := io.ReadAll(body)
	var received review
	if err == nil {
		err = bounds.Unmarshal(data, &received)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the AdmissionReview: %w", err)
	}
	if received.APIVersion != reviewVersion || received.Kind != reviewKind {
		return nil, fmt.Errorf("this is %.100q of %.100q, and not an %s of %s", received.Kind, received.APIVersion, reviewKind, reviewVersion)
	}
	asked := received.Request
	if asked == nil || asked.UID == "" {
		return nil, errors.New("the AdmissionReview has no request with a uid")
	}
	if max(len(asked.UID), len(asked.Namespace)) > maxName {
		return nil, fmt.Errorf("the uid or the namespace has more than %d characters", maxName)
	}
	return asked, nil
}

// judge tries the pod if it would be another one than before. What is not about the spec of a PodManager is allowed, and not answered with
// an error: rules that match too much, or a failurePolicy Fail beside them, must not stop other people's objects. The rules name v1;
// the API server converts other versions before it asks.
func (h *Handler) judge(ctx context.Context, asked *request) verdict {
	isWrite := asked.Operation == operationCreate || asked.Operation == operationUpdate
	if schema.GroupVersionKind(asked.Kind) != v1.GroupVersionKind || asked.SubResource != "" || !isWrite {
		klog.FromContext(ctx).V(4).Info("Allowed what is not looked at", "kind", bounds.Short(asked.Kind.Kind),
			"subresource", bounds.Short(asked.SubResource), "operation", bounds.Short(asked.Operation))
		return verdict{}
	}
	size := int64(len(asked.Object) + len(asked.OldObject))
	defer h.looking.Add(-size)
	if h.looking.Add(size) > maxObjects {
		return notTried(crowded)
	}
	manager, err := decode(asked, asked.Object)
	if err != nil {
		// The schema has taken it. The controller cannot read it either, and says so in the status; a newer one may. It is not for this
		// one to refuse what it does not understand.
		return notTried("the controller cannot read the PodManager: " + err.Error())
	}
	if manager.DeletionTimestamp != nil || !h.serves(manager) {
		return verdict{}
	}
	pod := h.podToTry(manager)
	if asked.Operation == operationUpdate {
		if old, err := decode(asked, asked.OldObject); err == nil && equality.Semantic.DeepEqual(h.podToTry(old), pod) {
			return verdict{}
		}
	}
	found := h.try(ctx, manager, pod)
	if logger := klog.FromContext(ctx).V(2); found.refusal != nil {
		logger.Info("Refused a PodManager", "podmanager", klog.KObj(manager), "why", found.refusal.Message)
	}
	return found
}

// decode reads a PodManager. The status does not reach the pods; whoever makes up a review could make up one that takes long to read.
func decode(asked *request, object json.RawMessage) (*v1.PodManager, error) {
	manager := &v1.PodManager{}
	if err := bounds.Unmarshal(object, manager); err != nil {
		return nil, err
	}
	if len(manager.Name) > maxName {
		return nil, fmt.Errorf("its name has more than %d characters", maxName)
	}
	manager.Namespace = asked.Namespace
	manager.Status = v1.PodManagerStatus{}
	return manager, nil
}
