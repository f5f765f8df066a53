package faults

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
)

// Proxy forwards requests to an API server, except for requests that its rules hit. Rules may change while it runs. It adds no credentials: the
// token of a client is forwarded unchanged. (A client certificate cannot be forwarded.)
type Proxy struct {
	server     *http.Server
	forward    *httputil.ReverseProxy
	kubeconfig *clientcmdapi.Config

	mu      sync.Mutex
	random  *rand.Rand
	rules   []*Rule
	stalls  map[*Stall]bool
	watches map[*openWatch]bool
	log     []Entry
}

// StartProxy starts a proxy on a free port of 127.0.0.1, in front of the API server of a kubeconfig file.
func StartProxy(kubeconfig string, seed uint64) (*Proxy, error) {
	p := &Proxy{
		random: rand.New(rand.NewPCG(seed, 0)), stalls: map[*Stall]bool{}, watches: map[*openWatch]bool{},
	}
	var err error
	if p.kubeconfig, err = clientcmd.LoadFromFile(kubeconfig); err != nil {
		return nil, err
	}
	if p.forward, err = p.newForward(); err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", kubeconfig, err)
	}
	if err := p.serve(); err != nil {
		return nil, err
	}
	return p, nil
}

// newForward returns a proxy that forwards requests. Of the credentials in the kubeconfig, it uses only the certificate authority.
func (p *Proxy) newForward() (*httputil.ReverseProxy, error) {
	config, err := clientcmd.NewDefaultClientConfig(*p.kubeconfig, nil).ClientConfig()
	if err != nil {
		return nil, err
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		return nil, err
	}
	trust, err := rest.TLSConfigFor(rest.AnonymousClientConfig(config))
	if err != nil {
		return nil, err
	}
	return &httputil.ReverseProxy{
		Transport:      &http.Transport{TLSClientConfig: trust, ForceAttemptHTTP2: true, DisableCompression: true},
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(target) },
		FlushInterval:  -1, // forward the events of a watch at once
		ModifyResponse: p.answered,
		ErrorHandler:   func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		ErrorLog:       log.New(io.Discard, "", 0), // the proxy breaks connections on purpose
	}, nil
}

// serve starts to listen with a new certificate, and puts the address and the certificate into the kubeconfig.
func (p *Proxy) serve() error {
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		return err
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	cluster := p.kubeconfig.Clusters[p.kubeconfig.Contexts[p.kubeconfig.CurrentContext].Cluster]
	*cluster = clientcmdapi.Cluster{Server: "https://" + listener.Addr().String(), CertificateAuthorityData: certificate}
	p.server = &http.Server{
		Handler: p, TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}}, ErrorLog: log.New(io.Discard, "", 0),
	}
	go func() { _ = p.server.ServeTLS(listener, "", "") }() // returns an error after Close
	return nil
}

// WriteKubeconfig writes the kubeconfig given to StartProxy, with the address of the proxy.
func (p *Proxy) WriteKubeconfig(file string) error {
	return clientcmd.WriteToFile(*p.kubeconfig, file)
}

// Close stops the proxy and breaks all connections.
func (p *Proxy) Close() error {
	return p.server.Close()
}

// exchange is what is known about a request when its answer arrives.
type exchange struct {
	request Request
	rule    string
	fault   Fault
}

type exchangeKey struct{}

var errDropped = errors.New("the answer is dropped")

func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	request := parse(r)
	rule, fault := p.choose(request)
	if fault.Delay > 0 && !pause(r.Context(), fault.Delay) {
		return
	}
	if fault.Status != 0 {
		refuse(w, request, fault)
	}
	if rule != "" && !fault.DropAnswer { // a dropped answer is logged once it was dropped
		p.note(rule, request, fault.String())
	}
	if fault.Status != 0 {
		return
	}
	if fault.Strike != nil && !fault.DropAnswer {
		fault.Strike()
		panic(http.ErrAbortHandler)
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	if request.Verb == "watch" {
		defer p.opened(&openWatch{request, cancel})()
	}
	ctx = context.WithValue(ctx, exchangeKey{}, exchange{request, rule, fault})
	p.forward.ServeHTTP(w, r.WithContext(ctx))
}

// answered sees the server's answer before the client does. An error breaks the connection.
func (p *Proxy) answered(response *http.Response) error {
	ctx := response.Request.Context()
	e := ctx.Value(exchangeKey{}).(exchange)
	if e.fault.DropAnswer {
		p.note(e.rule, e.request, fmt.Sprintf("dropped the answer %d", response.StatusCode))
		if e.fault.Strike != nil {
			e.fault.Strike()
		}
		return errDropped
	}
	if e.request.Verb == "watch" {
		response.Body = &stallable{response.Body, ctx, p, e.request}
	}
	return nil
}

// refuse answers like a failing API server.
func refuse(w http.ResponseWriter, request Request, fault Fault) {
	seconds := int(fault.RetryAfter.Seconds())
	resource := schema.GroupResource{Group: request.Group, Resource: request.Resource}
	status := apierrors.NewGenericServerResponse(fault.Status, request.Verb, resource, request.Name, "injected fault", seconds, false).Status()
	status.Kind, status.APIVersion = "Status", "v1"
	w.Header().Set("Content-Type", "application/json")
	if seconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(seconds))
	}
	w.WriteHeader(fault.Status)
	_ = json.NewEncoder(w).Encode(status) // the client may be gone
}

// hostOf returns host:port of a URL.
func hostOf(server string) (string, error) {
	parsed, err := url.Parse(server)
	if err != nil {
		return "", err
	}
	return parsed.Host, nil
}

// pause waits for the given time. It reports false if ctx is done.
func pause(ctx context.Context, wait time.Duration) bool {
	select {
	case <-time.After(wait):
		return true
	case <-ctx.Done():
		return false
	}
}
