package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/mycompany/podmanager/pkg/clients"
	"github.com/mycompany/podmanager/pkg/serve"
	"github.com/mycompany/podmanager/pkg/webhook"
	"github.com/mycompany/podmanager/pkg/webhook/certificates"
	"github.com/mycompany/podmanager/pkg/webhook/conversion"
	"github.com/mycompany/podmanager/pkg/webhook/validation"
)

// webhookLinger is how long webhooks are served after the signal to stop: until then API servers may not know yet that this replica ends.
const webhookLinger = 5 * time.Second

// webhookRoutes are the webhooks: what answers on which path.
func webhookRoutes(config *Config, c *clients.Clients) (map[string]http.Handler, error) {
	selector, err := labels.Parse(config.Selector)
	if err != nil {
		return nil, err
	}
	return map[string]http.Handler{
		"/validate":     validation.New(c.Trials, validation.Within(config.Namespaces, selector), config.means()),
		conversion.Path: conversion.Handler(),
	}, nil
}

// webhooks serves the webhooks, in every replica.
type webhooks struct {
	server       *serve.Server
	handler      *webhook.Handler
	certificates *certificates.Manager // nil with a certificate from files
}

// newWebhooks listens. It returns nil if webhooks are turned off.
func newWebhooks(config *Config, c *clients.Clients) (*webhooks, error) {
	if config.Webhook.Address == serve.Off {
		return nil, nil
	}
	routes, err := webhookRoutes(config, c)
	if err != nil {
		return nil, err
	}
	w := &webhooks{handler: webhook.NewHandler(routes)}
	if w.server, err = serve.Listen("webhooks", webhookFlag, config.Webhook.Address); err != nil {
		return nil, err
	}
	w.server.Bound(webhook.Limits)
	if config.Webhook.Folder != "" {
		encryption, err := serve.TLS(config.Webhook.Folder)
		if err != nil {
			return nil, fmt.Errorf("cannot serve webhooks: %w; see -%s", err, webhookFolderFlag)
		}
		w.server.Encrypt(encryption)
		return w, nil
	}
	w.certificates = certificates.New(certificates.Clients{Kube: c.Kube, Dynamic: c.Dynamic, Metadata: c.Metadata}, config.Webhook.Certificates)
	w.server.Encrypt(w.certificates.TLS())
	return w, nil
}

// start serves until shutDown.
func (w *webhooks) start(ctx context.Context) {
	if w != nil {
		w.server.Start(ctx, w.handler)
	}
}

// run keeps the certificate until ctx is done.
func (w *webhooks) run(ctx context.Context) {
	if w != nil && w.certificates != nil {
		w.certificates.Run(ctx)
	}
}

// linger keeps serving for a while after stopping is done, and asks clients to go elsewhere meanwhile.
func (w *webhooks) linger(stopping context.Context) {
	if w == nil {
		return
	}
	<-stopping.Done()
	w.handler.End()
	time.Sleep(webhookLinger)
}

func (w *webhooks) shutDown(ctx context.Context) {
	if w != nil {
		w.server.ShutDown(ctx)
	}
}

// readyChecks fail while there is no certificate.
func (w *webhooks) readyChecks() []serve.Check {
	if w == nil || w.certificates == nil {
		return nil
	}
	return []serve.Check{{Name: "webhookCertificate", Run: w.certificates.Check}}
}
