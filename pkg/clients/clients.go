package clients

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"

	"github.com/mycompany/podmanager/pkg/controller/source"
)

// Config is the API server to connect to, and how to connect to it.
type Config struct {
	Kubeconfig string
	Master     string
	// REST, if not nil, is used instead of a kubeconfig.
	REST      *rest.Config
	UserAgent string
	QPS       float32
	Burst     int
	// Clock, if not nil, is used instead of the machine's clock.
	Clock clock.PassiveClock
	// RenewDeadline is how long a leader may take to renew the Lease; 0 without leader election.
	RenewDeadline time.Duration
	// Wrap, if not nil, wraps the transport of the clients that the controller works with, except Events.
	Wrap transport.WrapperFunc
}

// The rate limit of Trials is above what users and their pipelines apply. It stops clients that send forged reviews.
const trialQPS, trialBurst = 100, 200

// Clients are the connections to one API server.
type Clients struct {
	source.Clients
	Server string
	// Dynamic reads and writes CRDs, for which there are no Go types here.
	Dynamic dynamic.Interface
	// Lease does not share the rate limiter of the other clients, so that a leader does not lose the Lease because it is busy. It is nil
	// without leader election.
	Lease kubernetes.Interface
	// LeaseWatches watches Leases. It has no timeout; the requests of Lease do.
	LeaseWatches kubernetes.Interface
	// Reviews asks the API server who a user is and what they may do. It has no rate limit: serve.Guard limits reviews itself, and separately
	// for known and unknown tokens.
	Reviews kubernetes.Interface
	// Trials creates the pods of PodManagers that users apply, as a dry run. Its own rate limit keeps a burst of applies from delaying the
	// controller, and a busy controller from delaying the applies.
	Trials kubernetes.Interface
	// Contact and Clock are shared by all clients.
	Contact *Contact
	Clock   *ServerClock
}

// Connect creates the clients, and checks that the API server can be reached and serves PodManagers.
func Connect(ctx context.Context, config Config) (*Clients, error) {
	restConfig, err := loadRESTConfig(config)
	if err != nil {
		return nil, err
	}
	restConfig.UserAgent = config.UserAgent
	c, err := newClients(restConfig, config)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be used: %w", configSource(config.Kubeconfig), err)
	}
	if err := checkServed(ctx, c.Kube.Discovery(), c.Server); err != nil {
		return nil, err
	}
	return c, nil
}

func newClients(restConfig *rest.Config, config Config) (*Clients, error) {
	c := &Clients{Server: restConfig.Host, Contact: &Contact{}, Clock: newServerClock(clock.RealClock{})}
	if config.Clock != nil {
		c.Clock = newServerClock(config.Clock)
	}
	restConfig.Wrap(c.Contact.wrap)
	restConfig.Wrap(c.Clock.wrap)
	leaseConfig := rest.CopyConfig(restConfig)
	if config.Wrap != nil {
		restConfig.Wrap(config.Wrap)
	}
	reports := rest.CopyConfig(restConfig)
	// These clients share one rate limiter, so that the flags limit their requests together.
	restConfig.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(config.QPS, config.Burst)
	var err error
	if c.PodManagers, err = source.NewManagerClient(restConfig); err != nil { // JSON: custom resources have no protobuf
		return nil, err
	}
	if c.Dynamic, err = dynamic.NewForConfig(restConfig); err != nil {
		return nil, err
	}
	if c.Kube, err = kubernetes.NewForConfig(withProtobuf(restConfig)); err != nil {
		return nil, err
	}
	if c.Metadata, err = metadata.NewForConfig(restConfig); err != nil {
		return nil, err
	}
	// Events and statuses have a separate rate limiter, so that pod requests never wait for them. The controller limits how many are written
	// at the same time.
	reports.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(config.QPS, config.Burst)
	if c.Statuses, err = source.NewManagerClient(reports); err != nil {
		return nil, err
	}
	// The client of events does not use config.Wrap: events report what this process has done, and are written even after the process has lost
	// the right to act, such as after a handover.
	events := withProtobuf(leaseConfig)
	events.RateLimiter = reports.RateLimiter
	if c.Events, err = kubernetes.NewForConfig(events); err != nil {
		return nil, err
	}
	reviews := rest.CopyConfig(leaseConfig)
	reviews.QPS = -1
	if c.Reviews, err = kubernetes.NewForConfig(withProtobuf(reviews)); err != nil {
		return nil, err
	}
	trials := rest.CopyConfig(leaseConfig)
	trials.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(trialQPS, trialBurst)
	if c.Trials, err = kubernetes.NewForConfig(withProtobuf(trials)); err != nil {
		return nil, err
	}
	if config.RenewDeadline > 0 {
		err = c.addLeaseClients(leaseConfig, config.RenewDeadline)
	}
	return c, err
}

// addLeaseClients creates the clients for leader election.
func (c *Clients) addLeaseClients(config *rest.Config, renewDeadline time.Duration) (err error) {
	config.UserAgent += "/leader-election"
	// The number of Leases and their retry period limit the requests. With client-go's default of 5 requests a second, a replica with many shards
	// would lose their Leases.
	config.QPS = -1
	if c.LeaseWatches, err = kubernetes.NewForConfig(withProtobuf(config)); err != nil {
		return err
	}
	// A request that hangs must leave time for a second one before the renew deadline.
	config.Timeout = max(time.Second, renewDeadline/2)
	c.Lease, err = kubernetes.NewForConfig(withProtobuf(config))
	return err
}

func withProtobuf(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	return config
}
