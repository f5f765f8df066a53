package app

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/mycompany/podmanager/pkg/clients"
	"github.com/mycompany/podmanager/pkg/serve"
	"github.com/mycompany/podmanager/pkg/webhook"
	"github.com/mycompany/podmanager/pkg/webhook/certificates"
	"github.com/mycompany/podmanager/pkg/webhook/conversion"
	"github.com/mycompany/podmanager/pkg/webhook/metrics"
	"github.com/mycompany/podmanager/pkg/webhook/validation"
)

// webhookLinger is how long webhooks are served after the signal to stop. Until then, API servers may not know yet that this replica is
// stopping.
const webhookLinger = 5 * time.Second

// webhookRoutes returns the handlers of the webhooks by path.
func webhookRoutes(config *Config, c *clients.Clients) (map[string]http.Handler, error) {
	selector, err := labels.Parse(config.Selector)
	if err != nil {
		return nil, err
	}
	var validate http.Handler = validation.New(c.Trials, validation.Within(config.Namespaces, selector), config.capabilities())
	if config.Webhook.Clients != "" {
		validate = serve.OnlyVerified(validate)
	}
	// Any client may request a conversion: API servers present no certificate for conversions (kubernetes/kubernetes#131810), and a
	// conversion only converts what the client has sent.
	return map[string]http.Handler{"/validate": validate, conversion.Path: conversion.Handler()}, nil
}

// webhooks serves the webhooks, in every replica.
type webhooks struct {
	server       *serve.Server
	handler      *webhook.Handler
	certificates *certificates.Manager // nil with a certificate from files
}

// newWebhooks starts to listen. It returns nil if webhooks are turned off.
func newWebhooks(config *Config, c *clients.Clients) (*webhooks, error) {
	if config.Webhook.Address == serve.Off {
		return nil, nil
	}
	metrics.Register()
	routes, err := webhookRoutes(config, c)
	if err != nil {
		return nil, err
	}
	w := &webhooks{handler: webhook.NewHandler(routes)}
	if w.server, err = serve.Listen("webhooks", webhookFlag, config.Webhook.Address); err != nil {
		return nil, err
	}
	w.server.Bound(webhook.Limits)
	encryption, err := w.encryption(config, c)
	if err != nil {
		return nil, err
	}
	w.server.Encrypt(encryption)
	return w, nil
}

// encryption returns the TLS configuration: the server's certificate, and which client certificates it accepts.
func (w *webhooks) encryption(config *Config, c *clients.Clients) (encryption *tls.Config, err error) {
	if config.Webhook.Folder != "" {
		if encryption, err = serve.TLS(config.Webhook.Folder); err != nil {
			return nil, fmt.Errorf("cannot serve webhooks: %w; see -%s", err, webhookFolderFlag)
		}
	} else {
		w.certificates = certificates.New(certificates.Clients{Kube: c.Kube, Dynamic: c.Dynamic, Metadata: c.Metadata}, config.Webhook.Certificates)
		encryption = w.certificates.TLS()
	}
	if config.Webhook.Clients != "" {
		if err := serve.VerifyClients(encryption, config.Webhook.Clients); err != nil {
			return nil, fmt.Errorf("cannot serve webhooks: %w; see -%s", err, webhookClientsFlag)
		}
	}
	return encryption, nil
}

// run serves until ctx is done, and for webhookLinger after that. During this time, it asks clients to connect to another replica.
func (w *webhooks) run(ctx context.Context) {
	if w == nil {
		return
	}
	outlivingCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	w.server.Start(outlivingCtx, w.handler)
	var keeping sync.WaitGroup
	if w.certificates != nil {
		keeping.Go(func() { w.certificates.Run(outlivingCtx) })
	}
	<-ctx.Done()
	w.handler.End()
	time.Sleep(webhookLinger)
	w.server.ShutDown(outlivingCtx)
	stop()
	keeping.Wait()
}

// readyChecks returns a check that fails while there is no certificate.
func (w *webhooks) readyChecks() []serve.Check {
	if w == nil || w.certificates == nil {
		return nil
	}
	return []serve.Check{{Name: "webhookCertificate", Run: w.certificates.Check}}
}
