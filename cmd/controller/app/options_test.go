package app

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestFlags(t *testing.T) {
	tests := map[string]struct {
		args string
		want []string // the beginning of each problem; none if the flags are valid
	}{
		"nothing":                   {"", nil},
		"two dashes":                {"--workers 2 --leader-elect=false", nil},
		"any free port, both":       {"-metrics-bind-address :0 -health-probe-bind-address :0", nil},
		"off, both":                 {"-metrics-bind-address 0 -health-probe-bind-address 0", nil},
		"IPv6":                      {"-metrics-bind-address [::1]:8080", nil},
		"namespaces":                {"-namespace team-a -namespace team-b -namespace team-a", nil},
		"selector":                  {"-selector team=a,env!=test", nil},
		"leader election":           {"-leader-elect -leader-elect-resource-namespace ns -leader-elect-lease-duration 3s -leader-elect-renew-deadline 2s -leader-elect-retry-period 1s", nil},
		"lease unused":              {"-leader-elect-lease-duration 1s", nil},
		"JSON":                      {"-logging-format json -v 4", nil},
		"vmodule":                   {"-vmodule queue=4", nil},
		"no workers":                {"-workers 0", []string{"-workers must be at least 1, not 0"}},
		"qps":                       {"-kube-api-qps 0", []string{"-kube-api-qps must be above 0"}},
		"qps that is no number":     {"-kube-api-qps NaN", []string{"-kube-api-qps must be above 0"}},
		"burst":                     {"-kube-api-burst 0", []string{"-kube-api-burst must be at least 1"}},
		"resync":                    {"-resync -1s", []string{"-resync must be 0"}},
		"namespace":                 {"-namespace Team_A", []string{`-namespace "Team_A" is not`}},
		"namespaces with a comma":   {"-namespace a,b", []string{`-namespace "a,b" is not`}},
		"name of policies":          {"-policy-name Second_", []string{`-policy-name must be the beginning of a ValidatingAdmissionPolicy's name such as podmanager, not "Second_"`}},
		"no name of policies":       {"-policy-name=", nil},
		"empty namespace":           {"-namespace=", []string{`-namespace "" is not`}},
		"selector wrong":            {"-selector a=b=c", []string{"-selector must be a label selector"}},
		"logging format":            {"-logging-format xml", []string{"-logging-format must be text or json"}},
		"vmodule with JSON":         {"-logging-format json -vmodule a=1", []string{"-vmodule works with"}},
		"port alone":                {"-metrics-bind-address 8080", []string{"-metrics-bind-address must be host:port"}},
		"port too high":             {"-health-probe-bind-address :65536", []string{"-health-probe-bind-address must be host:port"}},
		"port by name":              {"-health-probe-bind-address :http", []string{"-health-probe-bind-address must be host:port"}},
		"empty address":             {"-metrics-bind-address=", []string{"-metrics-bind-address must be host:port"}},
		"same port":                 {"-metrics-bind-address :1 -health-probe-bind-address :1", []string{"-metrics-bind-address and -health-probe-bind-address are both :1"}},
		"secure":                    {"-metrics-secure -metrics-cert-dir /certificate", nil},
		"certificate unused":        {"-metrics-cert-dir /certificate", []string{"-metrics-cert-dir needs -metrics-secure"}},
		"object metrics":            {"-object-metrics", nil},
		"patches only":              {"-resize-and-drain=false", nil},
		"patches only, by a word":   {"-resize-and-drain=no", []string{`invalid boolean value "no" for -resize-and-drain: give true or false`}},
		"object metrics nowhere":    {"-object-metrics -metrics-bind-address 0", []string{"-object-metrics needs the metrics server"}},
		"no namespace for a lease":  {"-leader-elect", []string{"-leader-elect-resource-namespace is needed"}},
		"lease in a bad namespace":  {"-leader-elect -leader-elect-resource-namespace A", []string{"-leader-elect-resource-namespace must be"}},
		"lease of a bad name":       {"-leader-elect -leader-elect-resource-namespace a -leader-elect-resource-name A", []string{"-leader-elect-resource-name must be"}},
		"lease too short":           {"-leader-elect -leader-elect-resource-namespace a -leader-elect-lease-duration 10s", []string{"-leader-elect-lease-duration must be longer"}},
		"lease of part of a second": {"-leader-elect -leader-elect-resource-namespace a -leader-elect-lease-duration 15500ms", []string{"-leader-elect-lease-duration must be in whole seconds"}},
		"renewal too late":          {"-leader-elect -leader-elect-resource-namespace a -leader-elect-retry-period 9s", []string{"-leader-elect-renew-deadline must be longer than 10.8s"}},
		"retry":                     {"-leader-elect -leader-elect-resource-namespace a -leader-elect-retry-period 0", []string{"-leader-elect-retry-period must be above 0"}},
		"webhooks":                  {"-webhook-bind-address :9443 -webhook-namespace a -webhook-host 127.0.0.1 -webhook-host example.com", nil},
		"webhooks of cert-manager":  {"-webhook-bind-address :9443 -webhook-cert-dir /certificate", nil},
		"webhooks off":              {"-webhook-bind-address 0", nil},
		"webhooks on a wrong port":  {"-webhook-bind-address 9443 -webhook-namespace a", []string{"-webhook-bind-address must be host:port"}},
		"webhooks beside metrics":   {"-webhook-bind-address :8080 -webhook-namespace a", []string{"-metrics-bind-address and -webhook-bind-address are both :8080"}},
		"webhooks beside health":    {"-webhook-bind-address :8081 -webhook-namespace a", []string{"-health-probe-bind-address and -webhook-bind-address are both :8081"}},
		"webhooks nowhere":          {"-webhook-bind-address :9443", []string{"-webhook-namespace is needed"}},
		"webhooks unused":           {"-webhook-cert-dir /certificate", []string{"-webhook-cert-dir needs -webhook-bind-address"}},
		"webhooks with clients":     {"-webhook-bind-address :9443 -webhook-namespace a -webhook-client-ca-file /ca.crt", nil},
		"clients of no webhooks":    {"-webhook-client-ca-file /ca.crt", []string{"-webhook-client-ca-file needs -webhook-bind-address"}},
		"webhooks alone":            {"-serve=webhook -webhook-bind-address :9443 -webhook-namespace a -namespace b -selector c=d -resize-and-drain=false -leader-elect=false", nil},
		"everything":                {"-serve=all -workers 2", nil},
		"an unknown role":           {"-serve=controller", []string{`-serve must be all or webhook, not "controller"`}},
		"webhooks alone, but none":  {"-serve=webhook", []string{"-serve=webhook needs -webhook-bind-address, such as :9443"}},
		"a controller's flags": {"-serve=webhook -webhook-bind-address :9443 -webhook-namespace a -leader-elect -leader-elect-resource-namespace a -shards 2 -workers 2 -resync 1h -object-metrics",
			[]string{"-leader-elect is for the controller, but -serve=webhook runs none: remove one of the two", "-leader-elect-resource-namespace is for",
				"-object-metrics is for", "-resync is for", "-shards is for", "-workers is for"}},
		"webhooks, all wrong": {"-webhook-bind-address :9443 -webhook-namespace A -webhook-name A -webhook-host a:1 -webhook-cert-lifetime 1s",
			[]string{"-webhook-name must be", "-webhook-namespace must be", `-webhook-host must be a DNS name or an IP address without a port, not "a:1"`, "-webhook-cert-lifetime must be at least 10s"}},
		"int":          {"-workers many", []string{`invalid value "many" for flag -workers: give a whole number`}},
		"float":        {"-kube-api-qps many", []string{`invalid value "many" for flag -kube-api-qps: give a number`}},
		"duration":     {"-resync 5", []string{`invalid value "5" for flag -resync: give a duration`}},
		"bool":         {"-leader-elect=si", []string{`invalid boolean value "si" for -leader-elect: give true or false`}},
		"verbosity":    {"-v=high", []string{`invalid value "high" for flag -v: give a whole number`}},
		"unknown flag": {"-nonsense", []string{"flag provided but not defined: -nonsense"}},
		"argument":     {"start", []string{`unexpected argument "start"`}},
		"everything at once": {"start -workers 0 -nonsense -resync soon -namespace A -kube-api-burst x", []string{
			`unexpected argument "start"`, "flag provided but not defined: -nonsense", `invalid value "soon" for flag -resync`,
			`invalid value "x" for flag -kube-api-burst`, "-workers must be", `-namespace "A"`,
		}},
	}
	t.Setenv("POD_NAMESPACE", "")
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			options := NewOptions()
			err := errors.Join(options.Parse(strings.Fields(test.args)), options.Validate())
			var got []string
			if err != nil {
				got = strings.Split(err.Error(), "\n")
			}
			if !slices.EqualFunc(got, test.want, strings.HasPrefix) {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

func TestConfig(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "here")
	options := NewOptions()
	if config := options.Config(); !slices.Equal(config.Namespaces, []string{""}) || config.Lease != nil {
		t.Errorf("by default, the namespaces are %q and the Lease is %v; want all namespaces and no Lease", config.Namespaces, config.Lease)
	}
	if err := options.Parse(strings.Fields("-namespace b -namespace a -namespace b -leader-elect -metrics-bind-address 0.0.0.0:1 -resync 1h")); err != nil {
		t.Fatal(err)
	}
	config := options.Config()
	if !slices.Equal(config.Namespaces, []string{"a", "b"}) {
		t.Errorf("namespaces %q, want a and b, each once", config.Namespaces)
	}
	if config.Lease == nil || config.Lease.Namespace != "here" || config.Lease.Name != "podmanager-controller" {
		t.Errorf("lease %+v, want podmanager-controller in the pod's own namespace", config.Lease)
	}
	if cluster := config.Cluster; !strings.HasPrefix(cluster.UserAgent, "podmanager-controller/") || cluster.RenewDeadline != 10*time.Second {
		t.Errorf("connects as %q, with a renew deadline of %v", cluster.UserAgent, cluster.RenewDeadline)
	}
	names := config.Webhook.Certificates
	got := []string{config.Webhook.Address, names.Namespace, names.Service, names.Secret, names.Configuration}
	if want := []string{"0", "here", "podmanager-webhook", "podmanager-webhook", "podmanager"}; !slices.Equal(got, want) {
		t.Errorf("webhooks: address and names are %q, want %q", got, want)
	}
	if config.MetricsAddress != "0.0.0.0:1" || config.Resync != time.Hour {
		t.Errorf("metrics on %q, resync %v", config.MetricsAddress, config.Resync)
	}
}

func TestOwnNamespace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "namespace")
	if got := ownNamespace("", file); got != "" {
		t.Errorf("outside a pod: got %q", got)
	}
	if err := os.WriteFile(file, []byte("from-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := ownNamespace("", file); got != "from-file" {
		t.Errorf("with a service account: got %q", got)
	}
	if got := ownNamespace("from-env", file); got != "from-env" {
		t.Errorf("with POD_NAMESPACE: got %q", got)
	}
}

func TestHelp(t *testing.T) {
	var help bytes.Buffer
	NewOptions().PrintHelp(&help)
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	NewOptions().AddFlags(flags)
	count := 0
	flags.VisitAll(func(f *flag.Flag) {
		count++
		if !strings.Contains(help.String(), "\n  -"+f.Name) {
			t.Errorf("-%s is missing in the help", f.Name)
		}
	})
	if lines := strings.Count(help.String(), "\n  -"); lines != count {
		t.Errorf("the help shows %d flags, but there are %d", lines, count)
	}
	for _, noise := range []string{"Alpha", "DEPRECATED", "split-stream"} {
		if strings.Contains(help.String(), noise) {
			t.Errorf("the help contains %q", noise)
		}
	}
	if err := NewOptions().Parse([]string{"-workers", "x", "-h"}); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("-h after an error: got %v, want the help", err)
	}
}
