package app

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/mycompany/podmanager/pkg/clients"
	"github.com/mycompany/podmanager/pkg/serve"
)

// servers has what a process serves in any role.
type servers struct {
	metrics  *serve.Server // nil if turned off
	guard    *serve.Guard  // nil if every client may read the metrics
	health   *serve.Server // nil if turned off
	webhooks *webhooks     // nil if turned off
}

// listen makes all servers listen, so that an address in use is detected before anything is served.
func listen(config *Config, c *clients.Clients) (s *servers, err error) {
	s = &servers{}
	if s.metrics, err = serve.Listen("metrics", metricsFlag, config.MetricsAddress); err != nil {
		return nil, err
	}
	if config.MetricsSecure {
		encryption, err := serve.TLS(config.MetricsCertificate)
		if err != nil {
			return nil, fmt.Errorf("cannot serve metrics: %w; see -%s", err, certificateFlag)
		}
		s.metrics.Encrypt(encryption)
		s.guard = serve.NewGuard(c.Reviews)
	}
	if s.health, err = serve.Listen("health", healthFlag, config.HealthAddress); err != nil {
		return nil, err
	}
	s.webhooks, err = newWebhooks(config, c)
	return s, err
}

// start serves metrics and health until shutDown is called. The webhooks are run separately.
func (s *servers) start(ctx context.Context, role role) {
	s.metrics.Start(ctx, s.metricsHandler(role))
	s.health.Start(ctx, s.healthHandler(role))
}

// metricsHandler serves the metrics. With a guard, it serves them only to authorized users.
func (s *servers) metricsHandler(role role) http.Handler {
	if s.guard == nil {
		return serve.Metrics(role.objects())
	}
	return s.guard.Protect(serve.Metrics(role.objects()))
}

func (s *servers) healthHandler(role role) http.Handler {
	return serve.Health(role.liveChecks(), slices.Concat(role.readyChecks(), s.webhooks.readyChecks()))
}

func (s *servers) shutDown(ctx context.Context) {
	s.health.ShutDown(ctx)
	s.metrics.ShutDown(ctx)
}
