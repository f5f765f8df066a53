package app

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	logsapi "k8s.io/component-base/logs/api/v1"

	"github.com/mycompany/podmanager/pkg/serve"
)

// Names of flags that error messages also mention.
const (
	serveFlag       = "serve"
	metricsFlag     = "metrics-bind-address"
	secureFlag      = "metrics-secure"
	certificateFlag = "metrics-cert-dir"
	objectsFlag     = "object-metrics"
	healthFlag      = "health-probe-bind-address"
	shardsFlag      = "shards"
	policyFlag      = "policy-name"
)

// flagGroup is a section of the help with its own heading.
type flagGroup struct {
	heading string
	flags   *flag.FlagSet
}

// Parse reads the command line. It continues after an error, so that it returns all errors at once. It returns flag.ErrHelp if the user asked
// for help.
func (o *Options) Parse(args []string) error {
	flags := flag.NewFlagSet(programName, flag.ContinueOnError)
	flags.SetOutput(io.Discard) // Main prints the errors and the help
	o.AddFlags(flags)

	var p problems
	for len(args) > 0 {
		err := flags.Parse(args)
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		p.refuse(err != nil, "%w", err)
		args = flags.Args()
		if err == nil && len(args) > 0 {
			p.refuse(true, "unexpected argument %q: everything is set by flags", args[0])
			args = args[1:]
		}
	}
	flags.Visit(func(f *flag.Flag) {
		if f.Value.String() != f.DefValue {
			o.changed = append(o.changed, f.Name)
		}
	})
	return errors.Join(p...)
}

// PrintHelp prints the help.
func (o *Options) PrintHelp(out io.Writer) {
	fmt.Fprintf(out, `%[1]s keeps the pods of PodManagers (apps.mycompany.com/v1) running, and reports their state.

Usage:
  %[1]s -kubeconfig FILE [flags]   against any cluster
  %[1]s -leader-elect [flags]      in a cluster, as its own ServiceAccount
  %[1]s -serve webhook [flags]     the webhooks alone, without the controller
`, programName)
	for _, group := range o.flagGroups() {
		fmt.Fprintf(out, "\n%s:\n", group.heading)
		group.flags.SetOutput(out)
		group.flags.PrintDefaults()
	}
}

func (o *Options) flagGroups() []flagGroup {
	return []flagGroup{
		{"Which cluster", flagSet(o.addClusterFlags)},
		{"What to work on", flagSet(o.addWorkFlags)},
		{"Leader election, for more than one replica", flagSet(o.addLeaderFlags)},
		{"What to serve", flagSet(o.addServerFlags)},
		{"Webhooks, as artifacts/webhook installs them", flagSet(o.addWebhookFlags)},
		{"Logs and version", flagSet(o.addLoggingFlags)},
	}
}

func flagSet(add func(*flag.FlagSet)) *flag.FlagSet {
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	add(flags)
	return flags
}

func (o *Options) addClusterFlags(flags *flag.FlagSet) {
	flags.StringVar(&o.Kubeconfig, "kubeconfig", o.Kubeconfig,
		"kubeconfig `file`; without it, the pod's own ServiceAccount is used")
	flags.StringVar(&o.Master, "master", o.Master, "`URL` of the API server; overrides the one in the kubeconfig")
	flags.Float64Var(&o.QPS, "kube-api-qps", o.QPS, "maximum of `requests` to the API server per second, averaged over a long time; "+
		"statuses and events have a limit of their own, of the same size, and Leases have none")
	flags.IntVar(&o.Burst, "kube-api-burst", o.Burst, "maximum of `requests` to the API server in a burst, for each of the two limits of -kube-api-qps")
}

func (o *Options) addWorkFlags(flags *flag.FlagSet) {
	flags.IntVar(&o.Workers, "workers", o.Workers, "`number` of PodManagers worked on at the same time; at most half of them belong to one namespace; "+
		"with -"+shardsFlag+", each shard gets twice its share of them, and at least 8")
	flags.Var(&o.Namespaces, "namespace", "`namespace` to work in; repeat it for several; all if not given")
	flags.StringVar(&o.Selector, "selector", o.Selector,
		"label `selector`, such as team=a: only PodManagers that match are worked on")
	flags.DurationVar(&o.Resync, "resync", o.Resync,
		"`period` after which all PodManagers are synced again although nothing has changed; 0 for never, which is right unless you hunt a bug")
	flags.StringVar(&o.PolicyName, policyFlag, o.PolicyName,
		"beginning of the `name` of the ValidatingAdmissionPolicies of artifacts/policy.yaml; /readyz?verbose and a metric report if they are "+
			"missing; empty turns the check off")
	flags.BoolVar(&o.ResizeAndDrain, "resize-and-drain", o.ResizeAndDrain,
		"resize pods in place, and take them out of service for inPlaceGracePeriodSeconds; without it the controller needs no right to "+
			"patch pods/resize and pods/status, replaces pods whose CPU or memory change, and changes images of pods while they serve")
	flags.StringVar(&o.Spreading, "default-spreading", o.Spreading,
		"how to spread pods whose template has no topologySpreadConstraints: `auto` over nodes and zones, host over nodes, "+
			"none to leave it to the scheduler's defaults")
}

func (o *Options) addLeaderFlags(flags *flag.FlagSet) {
	flags.BoolVar(&o.LeaderElect, "leader-elect", o.LeaderElect,
		"work only while holding the Lease; the other replicas stand by with warm caches")
	flags.StringVar(&o.Lease.Namespace, "leader-elect-resource-namespace", o.Lease.Namespace,
		"`namespace` of the Lease; in a pod, the default is the pod's own namespace")
	flags.StringVar(&o.Lease.Name, "leader-elect-resource-name", o.Lease.Name, "`name` of the Lease")
	flags.DurationVar(&o.Lease.Duration, "leader-elect-lease-duration", o.Lease.Duration,
		"`time` after which a silent leader is replaced")
	flags.DurationVar(&o.Lease.RenewDeadline, "leader-elect-renew-deadline", o.Lease.RenewDeadline,
		"`time` after which a leader that cannot renew the Lease gives up; shorter than the lease duration")
	flags.DurationVar(&o.Lease.RetryPeriod, "leader-elect-retry-period", o.Lease.RetryPeriod,
		"`time` between attempts to get or renew the Lease")
	flags.IntVar(&o.Shards, shardsFlag, o.Shards,
		"divide the PodManagers into this `number` of shards, such as 16, which all replicas share; 0 for one leader that does everything")
}

func (o *Options) addServerFlags(flags *flag.FlagSet) {
	flags.StringVar(&o.Serve, serveFlag, o.Serve,
		"`what` this process runs: "+serveAll+" for the controller, and with -"+webhookFlag+" also the webhooks; "+serveWebhook+
			" for the webhooks alone, if the controller runs in another process")
	flags.StringVar(&o.MetricsAddress, metricsFlag, o.MetricsAddress, "`address` of /metrics; 0 for none")
	flags.BoolVar(&o.MetricsSecure, secureFlag, o.MetricsSecure,
		"serve metrics over TLS, and only to clients with the bearer token of a user who may get the path: see the ClusterRole podmanager-metrics-reader")
	flags.StringVar(&o.MetricsCertificate, certificateFlag, o.MetricsCertificate,
		"`folder` with tls.crt and tls.key for -"+secureFlag+", such as a mounted Secret; without it the certificate is self-signed")
	flags.BoolVar(&o.ObjectMetrics, objectsFlag, o.ObjectMetrics,
		"serve metrics of single PodManagers under "+serve.ObjectMetricsPath+"; each replica serves those of the PodManagers that it works on")
	flags.StringVar(&o.HealthAddress, healthFlag, o.HealthAddress, "`address` of /livez and /readyz; 0 for none")
}

// addLoggingFlags adds three of component-base's flags. The others need a feature gate or have no effect here.
func (o *Options) addLoggingFlags(flags *flag.FlagSet) {
	all := flagSet(func(flags *flag.FlagSet) { logsapi.AddGoFlags(o.Logging, flags) })
	for name, usage := range map[string]string{
		"logging-format": "`format` of the logs: text or json",
		"v":              "`level` of detail: 0 start, stop and problems, 2 changes, 4 decisions, 5 everything",
		"vmodule":        "level of detail of single files, such as `status=5,scheduler=4`; with -logging-format text only",
	} {
		flags.Var(all.Lookup(name).Value, name, usage)
	}
	flags.BoolVar(&o.Version, "version", o.Version, "print the version and exit")
}

// repeated is a flag that can be repeated.
type repeated []string

func (l *repeated) String() string {
	return strings.Join(*l, ",")
}

func (l *repeated) Set(value string) error {
	*l = append(*l, value)
	return nil
}

// explainedValue explains what a value should look like where the flag package only reports a "parse error".
type explainedValue struct {
	flag.Value
}

func (v explainedValue) Set(text string) error {
	old := v.Value.String()
	err := v.Value.Set(text)
	getter, ok := v.Value.(flag.Getter)
	if err == nil || !ok {
		return err
	}
	_ = v.Value.Set(old) // a failed Set leaves 0, which Validate would report as a second problem
	switch getter.Get().(type) {
	case int, logsapi.VerbosityLevel:
		return errors.New("give a whole number, such as 5")
	case float64:
		return errors.New("give a number, such as 50")
	case time.Duration:
		return errors.New("give a duration, such as 30s or 5m")
	case bool:
		return errors.New("give true or false")
	}
	return err
}

// IsBoolFlag lets users write -leader-elect instead of -leader-elect=true. The embedded flag.Value has no such method.
func (v explainedValue) IsBoolFlag() bool {
	boolean, ok := v.Value.(interface{ IsBoolFlag() bool })
	return ok && boolean.IsBoolFlag()
}
