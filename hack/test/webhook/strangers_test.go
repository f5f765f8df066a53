//go:build e2e

package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mycompany/podmanager/hack/test/harness"
	"github.com/mycompany/podmanager/pkg/webhook"
)

// memoryLimit is the memory limit of the controller in its Deployment, in bytes.
const memoryLimit = 512 << 20

// slowClients opens count connections, sends the first byte of a request's body on each, and reconnects when a connection is closed, until ctx is
// done. It returns the current number of open connections, and a function that waits until all clients have ended.
func (h *hook) slowClients(ctx context.Context, count int) (connected *atomic.Int32, wait func()) {
	connected = &atomic.Int32{}
	var all sync.WaitGroup
	for range count {
		all.Go(func() {
			for ctx.Err() == nil {
				h.sendSlowly(ctx, connected)
				select {
				case <-ctx.Done():
				case <-time.After(time.Second): // the test is about slow bodies, not about handshakes
				}
			}
		})
	}
	return connected, all.Wait
}

func (h *hook) sendSlowly(ctx context.Context, connected *atomic.Int32) {
	dialer := &tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
	connection, err := dialer.DialContext(ctx, "tcp", h.address)
	if err != nil {
		return
	}
	defer context.AfterFunc(ctx, func() { connection.Close() })()
	defer connection.Close()
	if _, err := fmt.Fprintf(connection, "POST /validate HTTP/1.1\r\nHost: webhook\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n{"); err == nil {
		connected.Add(1)
		defer connected.Add(-1)
		_, _ = io.Copy(io.Discard, connection)
	}
}

// Unauthenticated clients hold all connections of the webhooks, each with an unfinished body. The API server is answered all the same.
func TestSlowBodies(t *testing.T) {
	clean(t)
	h := start(t)
	kubectl(t, manifest(t, h), "apply", "-f", "-")
	h.ready(t)
	awaitBundle(t)

	ctx, cancel := context.WithCancel(t.Context())
	most := webhook.Limits.Connections
	connected, wait := h.slowClients(ctx, most)
	defer wait()
	defer cancel()
	harness.Await(t, "strangers on almost all connections", func() (any, bool) { return connected.Load(), int(connected.Load()) > most*9/10 })
	awaitCall(t, h) // the server is at its limit of connections when the API server opens its first one
	before := h.calls(t)
	const asked = 20
	for range asked {
		apply(t)
	}
	if answered := h.calls(t) - before; answered < asked {
		t.Errorf("%d of %d requests of the API server have reached the webhook, beside %d strangers", answered, asked, connected.Load())
	}
	harness.WantMemory(t, h.Process, memoryLimit)
}

// Unauthenticated clients send several of the largest accepted conversions at once. The controller stays within its memory limit.
func TestLargeConversions(t *testing.T) {
	clean(t)
	h := start(t)
	h.ready(t)
	const tolerations = 15 << 20 / 3 // each of them is "{},", which is 3 bytes
	body := []byte(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"a","desiredAPIVersion":"apps.mycompany.com/v1","objects":[` +
		`{"apiVersion":"apps.mycompany.com/v1alpha1","kind":"PodManager","metadata":{"name":"a"},"spec":{"template":{"spec":{"tolerations":[` +
		strings.Repeat("{},", tolerations) + `{}]}}}}]}}`)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, Timeout: harness.Patience}
	defer client.CloseIdleConnections()
	var all sync.WaitGroup
	for range 12 {
		all.Go(func() {
			response, err := client.Post("https://"+h.address+"/convert", "application/json", bytes.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			defer response.Body.Close()
			answer, _ := io.ReadAll(io.LimitReader(response.Body, 300))
			t.Logf("answered %d: %s", response.StatusCode, answer)
		})
	}
	all.Wait()
	harness.WantMemory(t, h.Process, memoryLimit)
}
