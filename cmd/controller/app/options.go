package app

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

	"github.com/mycompany/podmanager/pkg/clients"
	"github.com/mycompany/podmanager/pkg/leader"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/policy"
	"github.com/mycompany/podmanager/pkg/serve"
)

// maxShards limits the number of Leases, and the length of a selector that lists all shards.
const maxShards = 256

// serviceAccountNamespaceFile is where the kubelet mounts the namespace of a pod.
const serviceAccountNamespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// Options are the flags as given. Config turns them into a Config.
type Options struct {
	Kubeconfig string
	Master     string
	QPS        float64
	Burst      int

	Workers    int
	Namespaces repeated
	Selector   string
	Resync     time.Duration

	ResizeAndDrain bool
	Spreading      string
	PolicyName     string

	LeaderElect bool
	Lease       leader.Config
	Shards      int

	Serve              string
	MetricsAddress     string
	MetricsSecure      bool
	MetricsCertificate string
	ObjectMetrics      bool
	HealthAddress      string

	WebhookAddress   string
	WebhookFolder    string
	WebhookName      string
	WebhookNamespace string
	WebhookHosts     repeated
	WebhookLifetime  time.Duration
	WebhookClients   string

	Logging *logsapi.LoggingConfiguration
	Version bool

	// changed has the names of the flags whose value differs from the default after Parse.
	changed []string
}

// NewOptions returns the defaults.
func NewOptions() *Options {
	namespace := ownNamespace(os.Getenv("POD_NAMESPACE"), serviceAccountNamespaceFile)
	return &Options{
		// The API server protects itself: API Priority and Fairness queues requests or responds with 429, and the client obeys. A tight limit
		// here would only slow down a large scale-up for no visible reason. This limit is above what a small control plane can create (about
		// 250 pods a second), so that it stops only a runaway loop.
		QPS:   500,
		Burst: 1000,

		// Workers wait for the API server most of the time. The ReplicaSet controller has 5, which leaves the API server idle half of the
		// time when many objects are created at once; see make bench.
		Workers: 100,
		// Watches miss nothing, and keys that are due later are requeued. A resync would only hide bugs.
		Resync: 0,

		ResizeAndDrain: true,
		Spreading:      string(plan.SpreadAuto),
		PolicyName:     policy.DefaultPrefix,

		// Two controllers without leader election would interfere with each other, but `go run` on a laptop should not need a namespace for a
		// Lease. The Deployment turns it on.
		LeaderElect: false,
		// A dead leader is replaced within 18.4 s. client-go extends the retry period to 2.2 s at most. A standby counts the 14 s from the
		// retry that saw the last renewal, and takes over at the first retry after that. The core controllers, with 15 s and 2 s, need up to
		// 24 s.
		Lease: leader.Config{
			Namespace:     namespace,
			Name:          programName,
			Duration:      14 * time.Second,
			RenewDeadline: 10 * time.Second,
			RetryPeriod:   time.Second,
		},

		Serve:          serveAll,
		MetricsAddress: ":8080",
		HealthAddress:  ":8081",

		WebhookName:      "podmanager",
		WebhookNamespace: namespace,
		// Long enough to survive a few weeks without a controller, short enough that renewals are routine.
		WebhookLifetime: 90 * 24 * time.Hour,

		Logging: logsapi.NewLoggingConfiguration(),
	}
}

// ownNamespace returns the namespace that this process runs in. It is empty if the process does not run in a pod.
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

// Validate returns all problems with the options, not just the first one.
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
	p.refuse(!slices.Contains([]plan.Spreading{plan.SpreadAuto, plan.SpreadHost, plan.SpreadNone}, plan.Spreading(o.Spreading)),
		"-default-spreading must be auto, host or none, not %q", o.Spreading)
	p.refuse(o.PolicyName != "" && len(validation.IsDNS1123Subdomain(o.PolicyName)) > 0,
		"-%s must be the beginning of a ValidatingAdmissionPolicy's name such as %s, not %q", policyFlag, policy.DefaultPrefix, o.PolicyName)
	format := o.Logging.Format
	p.refuse(format != "text" && format != "json", "-logging-format must be text or json, not %q", format)
	p.refuse(format == "json" && len(o.Logging.VModule) > 0,
		"-vmodule works with -logging-format text only: leave one of the two out")
	p = append(p, o.validateAddresses()...)
	p = append(p, o.validateRole()...)
	p = append(p, o.validateWebhooks()...)
	if o.LeaderElect {
		p = append(p, validateLease(o.Lease)...)
	}
	p.refuse(o.Shards < 0 || o.Shards > maxShards, "-%s must be from 0 (one leader) to %d, not %d", shardsFlag, maxShards, o.Shards)
	p.refuse(o.Shards > 0 && !o.LeaderElect, "-%s needs -leader-elect, whose Leases divide the shards among the replicas", shardsFlag)
	return errors.Join(p...)
}

func (o *Options) validateAddresses() problems {
	var p problems
	check := func(name, address string) string {
		if address == serve.Off {
			return ""
		}
		_, port, err := net.SplitHostPort(address)
		if number, portErr := strconv.ParseUint(port, 10, 16); err != nil || portErr != nil {
			p.refuse(true, "-%s must be host:port or :port, or 0 to turn it off, not %q", name, address)
		} else if number == 0 { // any free port: each server gets a different one
			return ""
		}
		return address
	}
	metrics, health := check(metricsFlag, o.MetricsAddress), check(healthFlag, o.HealthAddress)
	if webhook := check(webhookFlag, cmp.Or(o.WebhookAddress, serve.Off)); webhook != "" {
		p.refuse(webhook == metrics, "-%s and -%s are both %s: give them different ports", metricsFlag, webhookFlag, webhook)
		p.refuse(webhook == health, "-%s and -%s are both %s: give them different ports", healthFlag, webhookFlag, webhook)
	}
	p.refuse(o.MetricsCertificate != "" && !o.MetricsSecure, "-%s needs -%s", certificateFlag, secureFlag)
	p.refuse(o.ObjectMetrics && o.MetricsAddress == serve.Off, "-%s needs the metrics server: remove -%s=0", objectsFlag, metricsFlag)
	p.refuse(metrics != "" && metrics == health,
		"-%s and -%s are both %s: give them different ports", metricsFlag, healthFlag, metrics)
	return p
}

// validateLease repeats the checks of client-go's elector, in terms of our flags.
func validateLease(l leader.Config) problems {
	var p problems
	p.refuse(l.RetryPeriod <= 0, "-leader-elect-retry-period must be above 0, not %v", l.RetryPeriod)
	least := time.Duration(leaderelection.JitterFactor * float64(l.RetryPeriod))
	p.refuse(l.RenewDeadline <= least,
		"-leader-elect-renew-deadline must be longer than %v (1.2 times the retry period), not %v", least, l.RenewDeadline)
	p.refuse(l.Duration <= l.RenewDeadline,
		"-leader-elect-lease-duration must be longer than the renew deadline of %v, not %v", l.RenewDeadline, l.Duration)
	// A Lease stores whole seconds: other replicas would see a shorter duration than this one.
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

// problems collects the problems with the options, so that a user can fix all of them at once.
type problems []error

func (p *problems) refuse(wrong bool, format string, args ...any) {
	if wrong {
		*p = append(*p, fmt.Errorf(format, args...))
	}
}

func isLabel(name string) bool {
	return len(validation.IsDNS1123Label(name)) == 0
}

// Config is the configuration of the process, made from valid options.
type Config struct {
	Cluster clients.Config

	Workers    int
	Namespaces []string // at least one; metav1.NamespaceAll for all namespaces
	Selector   string
	Resync     time.Duration

	ResizeAndDrain bool
	Spreading      plan.Spreading
	PolicyName     string // empty to skip the check

	Lease  *leader.Config // nil without leader election
	Shards int            // 0 for one leader

	MetricsAddress     string // or serve.Off
	MetricsSecure      bool
	MetricsCertificate string // a folder, or empty
	ObjectMetrics      bool
	HealthAddress      string

	WebhooksOnly bool // whether this process has no controller
	Webhook      WebhookConfig
}

// Config turns valid options into a Config.
func (o *Options) Config() *Config {
	config := &Config{
		Cluster: clients.Config{
			Kubeconfig: o.Kubeconfig,
			Master:     o.Master,
			UserAgent:  readBuild().userAgent(),
			QPS:        float32(o.QPS),
			Burst:      o.Burst,
		},
		Workers:    o.Workers,
		Namespaces: slices.Compact(slices.Sorted(slices.Values(o.Namespaces))),
		Selector:   o.Selector,
		Resync:     o.Resync,

		ResizeAndDrain: o.ResizeAndDrain,
		Spreading:      plan.Spreading(o.Spreading),
		PolicyName:     o.PolicyName,
		Shards:         o.Shards,

		MetricsAddress:     o.MetricsAddress,
		MetricsSecure:      o.MetricsSecure,
		MetricsCertificate: o.MetricsCertificate,
		ObjectMetrics:      o.ObjectMetrics,
		HealthAddress:      o.HealthAddress,

		WebhooksOnly: o.Serve == serveWebhook,
		Webhook:      o.webhookConfig(),
	}
	if len(config.Namespaces) == 0 {
		config.Namespaces = []string{metav1.NamespaceAll}
	}
	if o.LeaderElect {
		config.Lease, config.Cluster.RenewDeadline = &o.Lease, o.Lease.RenewDeadline
	}
	return config
}

// capabilities returns what the controller may do to a pod besides patching it.
func (c *Config) capabilities() inplace.Capabilities {
	return inplace.Capabilities{CanResizeAndDrain: c.ResizeAndDrain}
}

// hasAllNamespaces reports whether the controller serves all namespaces, which needs cluster-wide rights.
func (c *Config) hasAllNamespaces() bool { return slices.Contains(c.Namespaces, metav1.NamespaceAll) }

// namespaces describes the namespaces for the log.
func (c *Config) namespaces() string {
	return cmp.Or(strings.Join(c.Namespaces, ","), "all")
}
