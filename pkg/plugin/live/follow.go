package live

import (
	"context"
	"fmt"
	"io"
	"time"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plugin/follow"
)

// Follow prints a line for each change of one PodManager until its rollout ends. It returns the last PodManager and the outcome, which is
// UnderWay if the context ended first. If untilAvailable is set, it does not wait until the new revision has proven itself.
func Follow(ctx context.Context, name string, untilAvailable bool, source Source, out, errOut io.Writer) (*v1.PodManager, follow.Outcome, error) {
	said := ""
	for {
		all := source.Snapshots(time.Now())
		if len(all) == 0 {
			return nil, follow.Deleted, fmt.Errorf("%s was deleted", name)
		}
		manager := all[0].Manager
		if line := follow.Line(manager); line != said {
			if _, err := fmt.Fprintln(out, line); err != nil {
				return manager, follow.UnderWay, err
			}
			said = line
		}
		if outcome := follow.OutcomeFor(manager); outcome != follow.UnderWay && (outcome != follow.Baking || untilAvailable) {
			return manager, outcome, nil
		}
		select {
		case <-ctx.Done():
			return manager, follow.UnderWay, nil
		case err := <-source.Errors():
			fmt.Fprintln(errOut, lost(err))
		case <-source.Changes():
		}
	}
}
