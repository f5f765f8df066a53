package cluster

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/podmanager/pkg/plugin/rights"
	"github.com/mycompany/podmanager/pkg/plugin/text"
)

// Advise adds advice to an error from the API server.
func (c *Cluster) Advise(err error, namespace string) error {
	var status apierrors.APIStatus
	var address *url.Error
	switch {
	case err == nil:
		return nil
	case isNotServed(err):
		return fmt.Errorf("%s does not serve PodManagers: install the CRD with kubectl apply -f artifacts/crd.yaml (run '%s' for details)",
			c.Server, text.Hint(c.Namespace, "check"))
	case apierrors.IsNotFound(err) && errors.As(err, &status):
		return fmt.Errorf("there is no PodManager %s in namespace %s; %s shows all", status.Status().Details.Name, namespace, text.Hint("", "get", "-A"))
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("%s does not accept the credentials: log in again, or choose another --context", c.Server)
	case apierrors.IsForbidden(err):
		return forbidden(err, c.Namespace)
	case isChanged(err):
		return errors.New("another client changed the object at the same time; try again")
	case errors.As(err, &address):
		return fmt.Errorf("%s cannot be reached: %w; check --context, and that the cluster is running", c.Server, address.Err)
	default:
		return err
	}
}

// isNotServed reports whether the API server has no such resource, for example because the CRD is missing. client-go adds the name to an answer that
// is not about an object, such as "404 page not found", and says so in a cause.
func isNotServed(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details == nil || details.Name == "" || apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// forbidden adds to a refusal which role would help, and how an administrator gives it to the user.
func forbidden(err error, namespace string) error {
	said := strings.TrimSpace(err.Error())
	if advice := rights.Refused(said); advice != "" {
		said += "; " + advice
	}
	return advised{fmt.Sprintf("%s (run '%s' to see your rights)", said, text.Hint(namespace, "check")), err}
}

// advised is an error of the API server with advice.
type advised struct {
	said string
	err  error
}

func (a advised) Error() string { return a.said }

func (a advised) Unwrap() error { return a.err }

// isChanged reports whether a write was refused because the object has changed since it was read. The API server has no separate reason for a patch
// whose test fails.
func isChanged(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsInvalid(err) && strings.Contains(err.Error(), "test") && strings.Contains(err.Error(), "/metadata/")
}
