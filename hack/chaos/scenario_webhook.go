package main

import (
	"context"
	"fmt"
	"time"

	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// webhookFaults are in the order in which they come.
var webhookFaults = []lab.WebhookFault{lab.WebhookDead, lab.WebhookBabbles, lab.WebhookExpired, lab.WebhookHangs}

// webhookBreaks breaks the webhook that the API server asks about every PodManager, in one way after the other, while users churn and roll
// out. The API server then takes PodManagers unasked. The controller must not notice, and finishes its work
// meanwhile. Once the webhook is sound, it is asked again.
func webhookBreaks(a *arena) {
	webhook, err := a.cluster.Validate(a.ctx, a.namespace, a.contender.kubeconfig(), a.namespace)
	a.must(err)
	defer func() {
		if err := webhook.Remove(); err != nil {
			a.logf("cannot remove the webhook: %v", err)
		}
	}()
	each := 15 * time.Second
	if a.short {
		each = 7 * time.Second // longer than the API server waits for an answer
	}
	a.start()
	for _, fault := range webhookFaults {
		webhook.Break(fault)
		a.logf("the webhook %s", fault)
		a.churnFor(each, func(ctx context.Context) { <-ctx.Done() })
		a.settleSoon(fmt.Sprintf("with a webhook that is broken (%s)", fault))
		webhook.Break(lab.WebhookSound)
		calls := webhook.Calls.Load()
		a.churnFor(each/4, func(ctx context.Context) { <-ctx.Done() })
		a.expect("I5", "webhook", fmt.Sprintf("calls after it %s", fault), 30*time.Second, func() (string, bool) {
			a.churnOnce()
			now := webhook.Calls.Load()
			return fmt.Sprint(now-calls, " calls"), now > calls
		})
	}
	a.settle()
	a.judge()
}
