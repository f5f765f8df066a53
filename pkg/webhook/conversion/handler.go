package conversion

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/mycompany/podmanager/pkg/bounds"
)

// Path is the path of the conversion webhook in the CRD of artifacts/webhook.
const Path = "/convert"

// Handler answers ConversionReviews. A valid review is answered with code 200 even if the conversion fails: with any other code, the API server
// would not show the message to its user.
func Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked, err := read(r.Body)
		if err != nil {
			why := bounds.Short(err.Error())
			klog.FromContext(r.Context()).V(2).Info("Refused a request that is not a ConversionReview", "from", r.RemoteAddr, "err", why)
			http.Error(w, why, http.StatusBadRequest)
			return
		}
		answer(w, asked)
	})
}

// read reads and checks the review.
func read(body io.Reader) (*review, error) {
	data, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(data) {
		return nil, errors.New("the body is not UTF-8") // decoding would turn each invalid byte into three
	}
	asked := &review{}
	if err := bounds.Unmarshal(data, asked); err != nil {
		return nil, fmt.Errorf("the body is not a ConversionReview: %w", err)
	}
	if asked.APIVersion != reviewVersion || asked.Kind != reviewKind {
		return nil, fmt.Errorf("the body is %.100q of %.100q, not %s of %s", asked.Kind, asked.APIVersion, reviewKind, reviewVersion)
	}
	if asked.Request == nil || len(asked.Request.UID) > maxUID {
		return nil, errors.New("the ConversionReview has no request, or the uid of its request is too long")
	}
	return asked, nil
}

// answer converts the objects one by one and writes each to the client before it converts the next, so that they are not all in memory at once.
// Objects that cannot be converted are detected first.
func answer(w http.ResponseWriter, asked *review) {
	reply := review{TypeMeta: asked.TypeMeta, Response: &response{
		UID: asked.Request.UID, Result: metav1.Status{Status: metav1.StatusSuccess}, ConvertedObjects: []json.RawMessage{},
	}}
	objects := asked.Request.Objects
	if err := checkAll(asked.Request); err != nil {
		objects = nil
		reply.Response.Result = metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonBadRequest, Message: err.Error()}
	}
	frame, err := json.Marshal(reply)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	const end = "]}}"
	w.Header().Set("Content-Type", "application/json")
	to := bufio.NewWriter(w)
	defer to.Flush() // an API server that has disconnected will retry
	_, _ = to.Write(bytes.TrimSuffix(frame, []byte(end)))
	for i, object := range objects {
		if i > 0 {
			_ = to.WriteByte(',')
		}
		convert(raw(object), asked.Request.DesiredAPIVersion).writeTo(to)
	}
	_, _ = to.WriteString(end)
}

func checkAll(asked *request) error {
	for i, object := range asked.Objects {
		if !raw(object).isObject() {
			return fmt.Errorf("object %d is not a JSON object", i)
		}
		if err := check(raw(object), asked.DesiredAPIVersion); err != nil {
			return fmt.Errorf("object %d: %w", i, err)
		}
	}
	return nil
}
