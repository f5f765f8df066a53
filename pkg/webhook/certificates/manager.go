package certificates

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/klog/v2"

	"github.com/mycompany/podmanager/pkg/webhook/metrics"
)

const (
	// tryAgainAfter is the delay after a failure.
	tryAgainAfter = 5 * time.Second
	// lookAfter is the longest time between two checks. The Manager watches the objects, but it may lack the permission to watch.
	lookAfter = 10 * time.Minute
	// requestTimeout limits one request to the API server.
	requestTimeout = 10 * time.Second
	// mostSteps limits the number of steps, including those lost to another replica, before this replica waits.
	mostSteps = 20
)

// MinLifetime is the shortest lifetime of a certificate. API servers must see a new CA within a tenth of it.
const MinLifetime = 10 * time.Second

// Config describes the certificates and the objects that use them.
type Config struct {
	// Namespace is the namespace of the Secret and of the Service.
	Namespace string
	// Secret and Service are the names of these objects. Configuration is the name of the ValidatingWebhookConfiguration.
	Secret, Service, Configuration string
	// Hosts are names and addresses of the webhooks in addition to the name of the Service.
	Hosts []string
	// Lifetime is the lifetime of the serving certificate. A CA lives four times as long.
	Lifetime time.Duration
}

// Clients are the clients that a Manager needs.
type Clients struct {
	Kube     kubernetes.Interface
	Dynamic  dynamic.Interface
	Metadata metadata.Interface
}

// secretClient is the part of the Secret client that a Manager needs.
type secretClient interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (*corev1.Secret, error)
	Create(ctx context.Context, secret *corev1.Secret, options metav1.CreateOptions) (*corev1.Secret, error)
	Update(ctx context.Context, secret *corev1.Secret, options metav1.UpdateOptions) (*corev1.Secret, error)
}

// Manager manages the certificate in one replica.
type Manager struct {
	secret         string
	secrets        secretClient
	configurations []configuration
	policy         policy
	// watch calls changed whenever one of the objects may have changed, until ctx is done.
	watch func(ctx context.Context, changed func())

	current atomic.Pointer[tls.Certificate]
	trouble atomic.Pointer[string]
	// said holds the last message logged about each object.
	said map[string]string
}

// New creates a Manager. It reads and writes nothing before Run.
func New(c Clients, config Config) *Manager {
	host := fmt.Sprintf("%s.%s.svc", config.Service, config.Namespace)
	own := own{config.Namespace, config.Service, config.Hosts}
	return &Manager{
		secret:         config.Secret,
		secrets:        c.Kube.CoreV1().Secrets(config.Namespace),
		configurations: []configuration{validating(c.Kube, config.Configuration, own), converting(c.Dynamic, own)},
		policy:         newPolicy(append([]string{host}, config.Hosts...), config.Lifetime),
		watch:          watchObjects(c.Metadata, config),
		said:           map[string]string{},
	}
}

// TLS returns the configuration of a server that presents the certificate that is current when a client connects.
func (m *Manager) TLS() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		if current := m.current.Load(); current != nil {
			return current, nil
		}
		return nil, errors.New("there is no certificate yet")
	}}
}

// Check is a health check. It fails while there is no valid certificate, and returns a warning if something else is wrong.
func (m *Manager) Check() (string, error) {
	trouble := ""
	if text := m.trouble.Load(); text != nil {
		trouble = *text
	}
	switch current := m.current.Load(); {
	case current == nil && trouble != "":
		return "", fmt.Errorf("no certificate: %s", trouble)
	case current == nil:
		return "", errors.New("no certificate yet")
	case !time.Now().Before(current.Leaf.NotAfter):
		if trouble != "" {
			trouble = ": " + trouble
		}
		return "", fmt.Errorf("the certificate expired at %s%s", current.Leaf.NotAfter.Format(time.RFC3339), trouble)
	}
	return trouble, nil
}

// Run maintains the certificate and the bundles until ctx is done.
func (m *Manager) Run(ctx context.Context) {
	changes := make(chan struct{}, 1)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		m.watch(ctx, func() {
			select {
			case changes <- struct{}{}:
			default: // a notification is already pending
			}
		})
	}()
	for ctx.Err() == nil {
		due, err := m.settle(ctx)
		m.tell(ctx, err)
		wait := min(max(time.Until(due), 0), lookAfter)
		if err != nil {
			wait = tryAgainAfter
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-changes:
		case <-timer.C:
		}
		timer.Stop()
	}
	<-watched
}

// settle takes one step after the other until there is none left or one fails. It returns the time of the next step.
func (m *Manager) settle(ctx context.Context) (time.Time, error) {
	for range mostSteps {
		holders, h, unread := m.readConfigurations(ctx) // before the Secret: see put
		secret, s, err := m.readSecret(ctx)
		if err != nil {
			return time.Now(), err
		}
		now := time.Now()
		m.serve(ctx, s, now)
		next, due := decide(s, h, now, m.policy)
		if next == stepNone {
			return due, unread
		}
		if next == stepPublish {
			err = m.put(ctx, holders, s.bundle())
		} else {
			err = m.write(ctx, secret, s, next, h, now)
		}
		switch {
		case err == nil:
			klog.FromContext(ctx).V(2).Info("Changed the webhooks' certificates", "step", next)
		case !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err): // otherwise another client was faster
			return now, fmt.Errorf("step %s: %w", next, err)
		}
	}
	return time.Now(), errors.New("another client keeps changing the Secret with the certificates, or an object that holds the CA")
}

// readConfigurations reads the bundles in the configurations.
func (m *Manager) readConfigurations(ctx context.Context) (holders []*holder, h held, err error) {
	h.known = true
	for _, c := range m.configurations {
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		found, readErr := c.read(ctx)
		cancel()
		if readErr != nil {
			h.known, err = false, errors.Join(err, fmt.Errorf("%s: %w", c.name, readErr))
			continue
		}
		if len(found.held) == 0 {
			m.sayOnce(ctx, c.name, "The object is missing or refers to none of this controller's webhooks: no CA is written into it")
			continue
		}
		m.sayOnce(ctx, c.name, "The object refers to webhooks of this controller: the CA is written into it")
		holders = append(holders, found)
		h.bundles = append(h.bundles, found.held...)
	}
	return holders, h, err
}

// readSecret reads the Secret. The secret is nil if it does not exist, and the state is nil if its content is invalid.
func (m *Manager) readSecret(ctx context.Context) (*corev1.Secret, *state, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	secret, err := m.secrets.Get(ctx, m.secret, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("secret %s: %w", m.secret, err)
	}
	s, err := parseState(secret.Data)
	if err != nil {
		m.sayOnce(ctx, "Secret "+m.secret, "The Secret is invalid and its content will be replaced: "+err.Error())
		return secret, nil, nil
	}
	delete(m.said, "Secret "+m.secret)
	return secret, s, nil
}

// serve switches to the certificate in the Secret. If API servers may not trust it yet, it does so only if the current one is missing or expired.
func (m *Manager) serve(ctx context.Context, s *state, now time.Time) {
	current := m.current.Load()
	if s == nil || current != nil && slices.Equal(current.Certificate[0], s.serving.certificate.Raw) {
		return
	}
	if current != nil && now.Before(current.Leaf.NotAfter) && !s.isTrusted(now, m.policy.delay) {
		return
	}
	m.current.Store(s.serving.forServer())
	metrics.CertificateStart.Set(float64(s.serving.certificate.NotBefore.Unix()))
	metrics.CertificateEnd.Set(float64(s.serving.certificate.NotAfter.Unix()))
	klog.FromContext(ctx).Info("Serving webhooks with this certificate", "until", s.serving.certificate.NotAfter,
		"serial", s.serving.certificate.SerialNumber.Text(16))
}

// put writes the bundle into the configurations that hold another one. They were read before the Secret. If another replica has changed the
// Secret and written its bundle since, this write fails with a conflict, so that an old bundle never replaces a newer one.
func (m *Manager) put(ctx context.Context, holders []*holder, bundle []byte) error {
	var problems []error
	var overtaken error
	for _, found := range holders {
		if (held{bundles: found.held}).isEverywhere(bundle) {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		switch err := found.put(ctx, bundle); {
		case apierrors.IsConflict(err):
			overtaken = err
		case err != nil:
			problems = append(problems, err)
		}
		cancel()
	}
	if len(problems) > 0 {
		return errors.Join(problems...)
	}
	return overtaken
}

// write applies a step to the Secret, unless another client has changed the Secret in the meantime.
func (m *Manager) write(ctx context.Context, secret *corev1.Secret, s *state, next step, h held, now time.Time) error {
	changed, err := change(s, next, h, now, m.policy)
	if err != nil {
		return err
	}
	data, err := changed.encode()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if secret == nil {
		_, err = m.secrets.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: m.secret, Labels: map[string]string{"app.kubernetes.io/name": "podmanager"}},
			Type:       corev1.SecretTypeTLS,
			Data:       data,
		}, metav1.CreateOptions{FieldManager: fieldManager})
		return err
	}
	secret.Data = data
	_, err = m.secrets.Update(ctx, secret, metav1.UpdateOptions{FieldManager: fieldManager})
	if apierrors.IsNotFound(err) { // deleted in the meantime
		return apierrors.NewConflict(corev1.Resource("secrets"), m.secret, err)
	}
	return err
}

// tell stores a failure for the health check and logs it once.
func (m *Manager) tell(ctx context.Context, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	m.trouble.Store(&text)
	if m.said["trouble"] != text && text != "" && ctx.Err() == nil {
		klog.FromContext(ctx).Error(err, "Cannot keep the certificate of the webhooks up to date, will try again")
	}
	m.said["trouble"] = text
}

// sayOnce logs a message unless it was the last one about the same object.
func (m *Manager) sayOnce(ctx context.Context, about, message string) {
	if m.said[about] != message {
		klog.FromContext(ctx).Info(message, "object", about)
		m.said[about] = message
	}
}
