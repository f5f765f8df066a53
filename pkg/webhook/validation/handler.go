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
	// maxName limits the length of a name. API servers refuse longer ones.
	maxName = 253
	// longestCall is timeoutSeconds of the webhook's configuration. A shorter timeout is in the query of each call.
	longestCall = 5 * time.Second
	// margin is how much earlier than the timeout the response is sent. A late response is useless, and its warnings are lost.
	margin = 500 * time.Millisecond
	// maxObjects limits the total size of the objects that are processed at a time. Comparing two objects and creating a pod takes up to 50 times
	// as much memory. There is room for 200 objects of the usual 10 KiB. If there is no room, an object is allowed with a warning.
	maxObjects = 2 << 20
	// maxTrials limits how many pods are tried at a time. More would slow down a busy API server, which has to serve the applies as well.
	maxTrials = 10
)

// Handler answers the AdmissionReviews that the API server sends for PodManagers. A call has no side effects, so the API server may also call it
// for a dry run.
type Handler struct {
	kube         kubernetes.Interface
	serves       func(*v1.PodManager) bool
	capabilities inplace.Capabilities
	// turns has an element for each trial in progress.
	turns chan struct{}
	// looking is the total size of all objects that are being processed.
	looking atomic.Int64
}

// New returns the handler. Its client has the controller's permissions, because the controller creates the pods. The client should have a
// separate rate limiter, so that many applies do not delay the controller, and vice versa. Only PodManagers that the controller serves are
// checked: elsewhere it may not even create pods. capabilities must be the controller's as well: they decide whether a pod has the readiness gate.
func New(kube kubernetes.Interface, serves func(*v1.PodManager) bool, capabilities inplace.Capabilities) *Handler {
	return &Handler{kube: kube, serves: serves, capabilities: capabilities, turns: make(chan struct{}, maxTrials)}
}

// Within returns a function that reports whether a controller with these namespaces and this selector serves a PodManager. metav1.NamespaceAll
// stands for all namespaces.
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
		// The request is not an AdmissionReview that we understand. If it does come from an API server, for example of a later version, the call
		// fails, and failurePolicy decides what happens.
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
	_, _ = w.Write(data) // on an error, the client is gone
}

// timeFor returns how long a response may take.
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
		return nil, fmt.Errorf("this is %.100q of %.100q, not an %s of %s", received.Kind, received.APIVersion, reviewKind, reviewVersion)
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

// judge tries the pod if it differs from the previous one. A request that does not affect the spec of a PodManager is allowed, not answered with
// an error: rules that match too much, or failurePolicy Fail, must not block other objects. The rules name v1, and the API server converts other
// versions before it calls.
func (h *Handler) judge(ctx context.Context, asked *request) verdict {
	isWrite := asked.Operation == operationCreate || asked.Operation == operationUpdate
	if schema.GroupVersionKind(asked.Kind) != v1.GroupVersionKind || asked.SubResource != "" || !isWrite {
		klog.FromContext(ctx).V(4).Info("Allowed a request without a dry run: no PodManager is written",
			"kind", bounds.Short(asked.Kind.Kind), "subresource", bounds.Short(asked.SubResource), "operation", bounds.Short(asked.Operation))
		return verdict{}
	}
	size := int64(len(asked.Object) + len(asked.OldObject))
	defer h.looking.Add(-size)
	if h.looking.Add(size) > maxObjects {
		return notTried(crowded)
	}
	manager, err := decode(asked, asked.Object)
	if err != nil {
		// The object has passed the schema. The controller cannot read it either and reports that in the status, but a newer controller may read
		// it. So this version must not refuse what it does not understand.
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

// decode decodes a PodManager. It drops the status, which does not affect pods. A forged status could take long to process.
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
