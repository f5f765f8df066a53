package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/tools/leaderelection"
	logsapi "k8s.io/component-base/logs/api/v1"
)

// Where the kubelet tells a container the namespace it is in.
const serviceAccountNamespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// off as a bind address turns the server off.
const off = "0"

// Options are the flags as they were given. What is made of them is a Config.
type Options struct {
	Kubeconfig string
	Master     string
	QPS        float64
	Burst      int

	Workers    int
	Namespaces namespaceList
	Selector   string
	Resync     time.Duration

	LeaderElect bool
	Lease       LeaseOptions

	MetricsAddress string
	HealthAddress  string

	Logging *logsapi.LoggingConfiguration
	Version bool
}

// LeaseOptions are about the Lease on which the leader is elected.
type LeaseOptions struct {
	Namespace     string
	Name          string
	Duration      time.Duration
	RenewDeadline time.Duration
	RetryPeriod   time.Duration
}

// NewOptions returns the defaults.
func NewOptions() *Options {
	return &Options{
		// The API server protects itself: priority and fairness queues us behind others and answers 429 when
		// it has to, and the client obeys. A tight limit here would only slow a large scale-up down without telling
		// why. This one lies above what a small control plane can create (about 250 pods a second), so that it
		// stops a loop gone wild and nothing else.
		QPS:   500,
		Burst: 1000,

		// They wait for the API server most of the time. ReplicaSets have 5, which leaves it idle half of the time when many
		// are created at once; see make bench.
		Workers: 100,
		// Watches miss nothing, and what is due later is queued for then. A resync would hide a bug of ours.
		Resync: 0,

		// Two processes at work on one cluster would get in each other's way, but `go run` on a laptop should
		// not need a namespace for a Lease. The Deployment turns it on.
		LeaderElect: false,
		// The durations of the core controllers: a dead leader is replaced within 15 s plus a retry.
		Lease: LeaseOptions{
			Namespace:     ownNamespace(os.Getenv("POD_NAMESPACE"), serviceAccountNamespaceFile),
			Name:          programName,
			Duration:      15 * time.Second,
			RenewDeadline: 10 * time.Second,
			RetryPeriod:   2 * time.Second,
		},

		MetricsAddress: ":8080",
		HealthAddress:  ":8081",
		Logging:        logsapi.NewLoggingConfiguration(),
	}
}

// ownNamespace is the namespace this process runs in, or empty if it does not run in a pod.
func ownNamespace(env, file string) string {
	if env != "" {
		return env
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(content))
}

// AddFlags adds every flag to flags.
func (o *Options) AddFlags(flags *flag.FlagSet) {
	for _, group := range o.flagGroups() {
		group.flags.VisitAll(func(f *flag.Flag) {
			flags.Var(explainedValue{f.Value}, f.Name, f.Usage)
		})
	}
}

// Validate returns everything that is wrong with the options, not just the first of it.
func (o *Options) Validate() error {
	var p problems
	p.refuse(!(o.QPS > 0), "-kube-api-qps must be above 0, not %v", o.QPS)
	p.refuse(o.Burst < 1, "-kube-api-burst must be at least 1, not %d", o.Burst)
	p.refuse(o.Workers < 1, "-workers must be at least 1, not %d", o.Workers)
	p.refuse(o.Resync < 0, "-resync must be 0 (never) or longer, not %v", o.Resync)
	for _, namespace := range o.Namespaces {
		p.refuse(!isLabel(namespace),
			"-namespace %q is not the name of a namespace: give one such as team-a, and the flag again for each further one", namespace)
	}
	if _, err := labels.Parse(o.Selector); err != nil {
		p.refuse(true, "-selector must be a label selector such as team=a,env!=test: %w", err)
	}
	format := o.Logging.Format
	p.refuse(format != "text" && format != "json", "-logging-format must be text or json, not %q", format)
	p.refuse(format == "json" && len(o.Logging.VModule) > 0,
		"-vmodule works with -logging-format text only: leave one of the two out")
	p = append(p, o.validateAddresses()...)
	if o.LeaderElect {
		p = append(p, o.Lease.validate()...)
	}
	return errors.Join(p...)
}

func (o *Options) validateAddresses() problems {
	var p problems
	check := func(name, address string) string {
		if address == off {
			return ""
		}
		_, port, err := net.SplitHostPort(address)
		if number, portErr := strconv.ParseUint(port, 10, 16); err != nil || portErr != nil {
			p.refuse(true, "-%s must be host:port or :port, or 0 to turn it off, not %q", name, address)
		} else if number == 0 { // any free port: never the same one twice
			return ""
		}
		return address
	}
	metrics, health := check(metricsFlag, o.MetricsAddress), check(healthFlag, o.HealthAddress)
	p.refuse(metrics != "" && metrics == health,
		"-%s and -%s are both %s: give them different ports", metricsFlag, healthFlag, metrics)
	return p
}

// validate repeats the rules of client-go's elector, in terms of our flags.
func (l LeaseOptions) validate() problems {
	var p problems
	p.refuse(l.RetryPeriod <= 0, "-leader-elect-retry-period must be above 0, not %v", l.RetryPeriod)
	least := time.Duration(leaderelection.JitterFactor * float64(l.RetryPeriod))
	p.refuse(l.RenewDeadline <= least,
		"-leader-elect-renew-deadline must be longer than %v (1.2 times the retry period), not %v", least, l.RenewDeadline)
	p.refuse(l.Duration <= l.RenewDeadline,
		"-leader-elect-lease-duration must be longer than the renew deadline of %v, not %v", l.RenewDeadline, l.Duration)
	// A Lease holds whole seconds: others would see a shorter one than we count on.
	p.refuse(l.Duration%time.Second != 0, "-leader-elect-lease-duration must be in whole seconds, not %v", l.Duration)
	p.refuse(len(validation.IsDNS1123Subdomain(l.Name)) > 0,
		"-leader-elect-resource-name must be the name of a Lease such as %s, not %q", programName, l.Name)
	if l.Namespace == "" {
		p.refuse(true,
			"-leader-elect-resource-namespace is needed outside a cluster: give the namespace to keep the Lease in, such as podmanager-system")
	} else {
		p.refuse(!isLabel(l.Namespace),
			"-leader-elect-resource-namespace must be the name of a namespace such as podmanager-system, not %q", l.Namespace)
	}
	return p
}

// problems collects what is wrong, so that a user can put it right in one go.
type problems []error

func (p *problems) refuse(wrong bool, format string, args ...any) {
	if wrong {
		*p = append(*p, fmt.Errorf(format, args...))
	}
}

func isLabel(name string) bool {
	return len(validation.IsDNS1123Label(name)) == 0
}

// Config is what the process runs with: the options, checked and settled.
type Config struct {
	Kubeconfig string
	Master     string
	QPS        float32
	Burst      int

	Workers    int
	Namespaces []string // at least one; metav1.NamespaceAll is all of them
	Selector   string
	Resync     time.Duration

	Lease *LeaseOptions // nil without leader election

	MetricsAddress string // or off
	HealthAddress  string
}

// Config settles valid options.
func (o *Options) Config() *Config {
	config := &Config{
		Kubeconfig:     o.Kubeconfig,
		Master:         o.Master,
		QPS:            float32(o.QPS),
		Burst:          o.Burst,
		Workers:        o.Workers,
		Namespaces:     slices.Compact(slices.Sorted(slices.Values(o.Namespaces))),
		Selector:       o.Selector,
		Resync:         o.Resync,
		MetricsAddress: o.MetricsAddress,
		HealthAddress:  o.HealthAddress,
	}
	if len(config.Namespaces) == 0 {
		config.Namespaces = []string{metav1.NamespaceAll}
	}
	if o.LeaderElect {
		config.Lease = &o.Lease
	}
	return config
}

// namespaces is for the log.
func (c *Config) namespaces() string {
	return cmp.Or(strings.Join(c.Namespaces, ","), "all")
}
