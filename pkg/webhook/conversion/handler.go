package conversion

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

// Path is where the CRD of artifacts/webhook says that conversions are served.
const Path = "/convert"

// maxBody is the largest review that is read. The API server asks for one object at a time, of which etcd takes 1.5 MiB, and which has its
// spec twice in v1alpha1; only the items of a list that it has read in another version come together.
const maxBody = 16 << 20

// Handler answers ConversionReviews. A review that can be read is answered with code 200, also if it cannot be carried out: the API server
// shows its user the message in the answer, and not that of another code.
func Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked, code, err := read(w, r)
		if err != nil {
			klog.FromContext(r.Context()).V(2).Info("Refused what is no ConversionReview", "from", r.RemoteAddr, "err", err)
			http.Error(w, err.Error(), code)
			return
		}
		answer, err := json.Marshal(answerTo(asked))
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer) // an API server that has gone away asks again
	})
}

// read is the review that is asked for, or the code and the reason why there is none.
func read(w http.ResponseWriter, r *http.Request) (*review, int, error) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return nil, http.StatusMethodNotAllowed, fmt.Errorf("a ConversionReview comes with POST, and not with %s", r.Method)
	}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return nil, http.StatusUnsupportedMediaType, fmt.Errorf("the content type is %q, and not application/json", r.Header.Get("Content-Type"))
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return nil, http.StatusRequestEntityTooLarge, fmt.Errorf("the review has more than %d bytes", tooLarge.Limit)
	}
	if err != nil {
		return nil, http.StatusBadRequest, err
	}
	asked := &review{}
	if err := json.Unmarshal(body, asked); err != nil {
		return nil, http.StatusBadRequest, fmt.Errorf("the body is no ConversionReview: %w", err)
	}
	if asked.APIVersion != reviewVersion || asked.Kind != reviewKind {
		return nil, http.StatusBadRequest, fmt.Errorf("the body is %q of %q, and not %s of %s", asked.Kind, asked.APIVersion, reviewKind, reviewVersion)
	}
	if asked.Request == nil {
		return nil, http.StatusBadRequest, errors.New("the ConversionReview has no request")
	}
	return asked, 0, nil
}

func answerTo(asked *review) *review {
	answer := &response{UID: asked.Request.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
	objects, err := convertAll(asked.Request)
	if answer.ConvertedObjects = objects; err != nil {
		answer.ConvertedObjects = []json.RawMessage{}
		answer.Result = metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonBadRequest, Message: err.Error()}
	}
	return &review{TypeMeta: asked.TypeMeta, Response: answer}
}

func convertAll(asked *request) ([]json.RawMessage, error) {
	converted := make([]json.RawMessage, 0, len(asked.Objects))
	for i, raw := range asked.Objects {
		object, err := decodeObject(raw)
		if err != nil {
			return nil, fmt.Errorf("object %d is no JSON object: %w", i, err)
		}
		result, err := Convert(object, asked.DesiredAPIVersion)
		if err != nil {
			return nil, fmt.Errorf("object %d: %w", i, err)
		}
		encoded, err := json.Marshal(result)
		if err != nil {
			return nil, fmt.Errorf("object %d: %w", i, err)
		}
		converted = append(converted, encoded)
	}
	return converted, nil
}
