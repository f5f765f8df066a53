package certificates

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2/ktesting"
)

const (
	testHost = "podmanager-webhook.podmanager-system.svc"
	testLife = 1000 * time.Second // a delay of 100 s, a CA of 4000 s
)

// roundTrip is the duration of each request to the API server, so that requests of two replicas can overlap.
const roundTrip = 10 * time.Millisecond

// world is an API server with one Secret and one configuration, which replicas share.
type world struct {
	mu      sync.Mutex
	version int
	secret  *corev1.Secret
	creates int // successful ones
	// bundles are all bundles that the configuration has held, newest last. It is empty if the configuration is not installed.
	bundles []published
	// watchers are notified of changes.
	watchers []func()
}

type published struct {
	bundle []byte
	at     time.Time
}

func newWorld() *world {
	return &world{bundles: []published{{nil, time.Now()}}}
}

// changed notifies the watchers. The lock must be held.
func (w *world) changed() {
	w.version++
	for _, tell := range w.watchers {
		tell()
	}
}

// link is a replica's connection to the API server.
type link struct {
	*world
	isCut bool
}

var errCut = errors.New("the API server cannot be reached")

func (l *link) pass() error {
	time.Sleep(roundTrip)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isCut {
		return errCut
	}
	return nil
}

func (l *link) cut(isCut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.isCut = isCut
}

func (l *link) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.Secret, error) {
	if err := l.pass(); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.secret == nil {
		return nil, apierrors.NewNotFound(corev1.Resource("secrets"), name)
	}
	return l.secret.DeepCopy(), nil
}

func (l *link) Create(_ context.Context, secret *corev1.Secret, _ metav1.CreateOptions) (*corev1.Secret, error) {
	if err := l.pass(); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.secret != nil {
		return nil, apierrors.NewAlreadyExists(corev1.Resource("secrets"), secret.Name)
	}
	l.creates++
	return l.store(secret), nil
}

func (l *link) Update(_ context.Context, secret *corev1.Secret, _ metav1.UpdateOptions) (*corev1.Secret, error) {
	if err := l.pass(); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.secret == nil {
		return nil, apierrors.NewNotFound(corev1.Resource("secrets"), secret.Name)
	}
	if l.secret.ResourceVersion != secret.ResourceVersion {
		return nil, apierrors.NewConflict(corev1.Resource("secrets"), secret.Name, errors.New("changed"))
	}
	return l.store(secret), nil
}

// store stores the Secret. The lock must be held.
func (w *world) store(secret *corev1.Secret) *corev1.Secret {
	w.secret = secret.DeepCopy()
	w.changed()
	w.secret.ResourceVersion = strconv.Itoa(w.version)
	return w.secret.DeepCopy()
}

// configuration returns the configuration of the world, accessed over the link.
func (l *link) configuration() configuration {
	return configuration{"test", func(context.Context) (*holder, error) {
		if err := l.pass(); err != nil {
			return nil, err
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if len(l.bundles) == 0 {
			return &holder{}, nil
		}
		version := len(l.bundles)
		put := func(_ context.Context, bundle []byte) error {
			if err := l.pass(); err != nil {
				return err
			}
			l.mu.Lock()
			defer l.mu.Unlock()
			if len(l.bundles) != version {
				return apierrors.NewConflict(corev1.Resource("configurations"), "test", errors.New("changed"))
			}
			l.hold(bundle)
			return nil
		}
		return &holder{held: [][]byte{l.bundles[version-1].bundle}, put: put}, nil
	}}
}

// hold writes the bundle into the configuration. The lock must be held.
func (w *world) hold(bundle []byte) {
	w.bundles = append(w.bundles, published{bundle, time.Now()})
	w.changed()
}

// overwrite writes the bundle as another client.
func (w *world) overwrite(bundle []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hold(bundle)
}

// setSecret changes the data of the Secret as another client. nil deletes the Secret.
func (w *world) setSecret(data map[string][]byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if data == nil {
		w.secret = nil
		w.changed()
		return
	}
	w.store(&corev1.Secret{Data: data})
}

// state returns the content of the Secret.
func (w *world) state(t *testing.T) *state {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.secret == nil {
		t.Fatal("there is no Secret")
	}
	s, err := parseState(w.secret.Data)
	if err != nil {
		t.Fatalf("the Secret is invalid: %v", err)
	}
	return s
}

// trusted returns the bundle that an API server with this lag knows.
func (w *world) trusted(lag time.Duration) []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := len(w.bundles) - 1; i >= 0; i-- {
		if !w.bundles[i].at.After(time.Now().Add(-lag)) {
			return w.bundles[i].bundle
		}
	}
	return nil
}

func (w *world) bundle() []byte { return w.trusted(0) }

// authorities returns the number of CAs in the configuration.
func (w *world) authorities(t *testing.T) int {
	t.Helper()
	all, err := parseCertificates(w.bundle())
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// replica is a running Manager.
type replica struct {
	*Manager
	link *link
	stop func()
}

// start runs a replica until it is stopped or the test ends.
func (w *world) start(t *testing.T) *replica {
	t.Helper()
	link := &link{world: w}
	m := &Manager{
		secret: "podmanager-webhook", secrets: link, configurations: []configuration{link.configuration()},
		policy: newPolicy([]string{testHost}, testLife), said: map[string]string{},
	}
	m.watch = func(ctx context.Context, changed func()) {
		w.mu.Lock()
		w.watchers = append(w.watchers, changed)
		w.mu.Unlock()
		<-ctx.Done()
	}
	_, ctx := ktesting.NewTestContext(t)
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		m.Run(ctx)
	}()
	r := &replica{m, link, func() { stop(); <-ended }}
	t.Cleanup(r.stop)
	return r
}

// call sends a request as an API server that trusts this bundle: a TLS handshake and one byte in each direction.
func (r *replica) call(bundle []byte) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	ours, theirs := net.Pipe()
	answered := make(chan error, 1)
	go func() {
		defer ours.Close()
		server := tls.Server(ours, r.TLS())
		got := make([]byte, 1)
		_, err := server.Read(got)
		if err == nil {
			_, err = server.Write(got)
		}
		answered <- err
	}()
	client := tls.Client(theirs, &tls.Config{RootCAs: roots, ServerName: testHost, MinVersion: tls.VersionTLS12})
	defer theirs.Close()
	if err := theirs.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return err
	}
	if _, err := client.Write([]byte{1}); err != nil {
		return err
	}
	if _, err := client.Read(make([]byte, 1)); err != nil {
		return err
	}
	theirs.Close()
	return <-answered
}

// stream calls all replicas about once a minute for the duration. It returns the number of failed calls and the first error.
func (w *world) stream(duration, lag time.Duration, replicas ...*replica) (failed int, first error) {
	const every = 61 * time.Second // not a divisor of any lifetime
	for end := time.Now().Add(duration); time.Now().Before(end); time.Sleep(every) {
		for _, r := range replicas {
			if err := r.call(w.trusted(lag)); err != nil {
				if failed++; first == nil {
					first = err
				}
			}
		}
	}
	return failed, first
}

// pass lets time pass and waits until all goroutines are blocked.
func pass(duration time.Duration) {
	time.Sleep(duration)
	synctest.Wait()
}

// expectServing checks that the replicas serve the certificate in the Secret and are ready.
func expectServing(t *testing.T, w *world, replicas ...*replica) {
	t.Helper()
	want := w.state(t).serving.certificate.Raw
	for i, r := range replicas {
		if _, err := r.Check(); err != nil {
			t.Errorf("replica %d is not ready: %v", i, err)
		}
		if current := r.current.Load(); current == nil || !bytes.Equal(current.Certificate[0], want) {
			t.Errorf("replica %d serves with a certificate that is not in the Secret", i)
		}
	}
}
