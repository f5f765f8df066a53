package cluster

import (
	"context"
	"errors"
	"strings"

	"github.com/mycompany/podmanager/pkg/plugin/check"
	"github.com/mycompany/podmanager/pkg/plugin/rights"
)

// MayRun returns an error that names the role which helps, if the user lacks the right to run exec or port-forward on pods of the namespace. kubectl
// sends such a request as a create or, for a WebSocket, as a get, so either right may be enough. If the API server does not say whether the user has
// them, MayRun returns nil, and leaves the answer to kubectl.
func (c *Cluster) MayRun(ctx context.Context, verb string) error {
	resource := "pods/" + strings.ReplaceAll(verb, "-", "")
	for _, how := range []string{"create", "get"} {
		asked := check.Right{Right: rights.Right{Verb: how, Resource: resource}}
		c.review(ctx, &asked, c.Namespace)
		if isDenied := asked.Err == nil && !asked.Allowed; !isDenied {
			return nil
		}
	}
	return errors.New(rights.Right{Verb: "create", Resource: resource}.Missing(c.user(ctx), c.Namespace))
}
