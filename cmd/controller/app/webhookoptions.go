package app

import (
	"cmp"
	"flag"
	"net"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/mycompany/podmanager/pkg/serve"
	"github.com/mycompany/podmanager/pkg/webhook/certificates"
)

// Names of flags that error messages also mention.
const (
	webhookFlag          = "webhook-bind-address"
	webhookFolderFlag    = "webhook-cert-dir"
	webhookNameFlag      = "webhook-name"
	webhookNamespaceFlag = "webhook-namespace"
	webhookHostFlag      = "webhook-host"
	webhookLifetimeFlag  = "webhook-cert-lifetime"
	webhookClientsFlag   = "webhook-client-ca-file"
)

// The values of -serve.
const (
	serveAll     = "all"
	serveWebhook = "webhook"
)

// webhookSuffix is the suffix of the names of the webhooks' Service and Secret.
const webhookSuffix = "-webhook"

func (o *Options) addWebhookFlags(flags *flag.FlagSet) {
	flags.StringVar(&o.WebhookAddress, webhookFlag, o.WebhookAddress, "`address` of the webhooks, such as :9443; none if not given, or 0")
	flags.StringVar(&o.WebhookFolder, webhookFolderFlag, o.WebhookFolder,
		"`folder` with tls.crt and tls.key, such as a Secret of cert-manager; without it the controller makes its own CA and certificates")
	flags.StringVar(&o.WebhookName, webhookNameFlag, o.WebhookName,
		"`name` of the ValidatingWebhookConfiguration; the names of the Service and the Secret are this name followed by "+webhookSuffix)
	flags.StringVar(&o.WebhookNamespace, webhookNamespaceFlag, o.WebhookNamespace,
		"`namespace` of the Service and the Secret; in a pod, the default is the pod's own namespace")
	flags.Var(&o.WebhookHosts, webhookHostFlag,
		"`name` or IP address that API servers use to call the webhooks, besides the name of the Service; repeat it for several")
	flags.DurationVar(&o.WebhookLifetime, webhookLifetimeFlag, o.WebhookLifetime,
		"`time` for which a certificate is valid; a CA is valid for four times as long; each is renewed after two thirds of its own time")
	flags.StringVar(&o.WebhookClients, webhookClientsFlag, o.WebhookClients,
		"`file` with CA certificates: only clients with a certificate from one of these CAs, such as API servers, may use /validate, which sends "+
			"a dry-run request for a pod; without it, every client may")
}

// validateRole rejects flags that have no effect without a controller, because a user who sets them expects the process to run a controller.
func (o *Options) validateRole() problems {
	var p problems
	if o.Serve != serveWebhook {
		p.refuse(o.Serve != serveAll, "-%s must be %s or %s, not %q", serveFlag, serveAll, serveWebhook, o.Serve)
		return p
	}
	p.refuse(o.hasNoWebhooks(), "-%s=%s needs -%s, such as :9443", serveFlag, serveWebhook, webhookFlag)
	for _, name := range o.changed {
		isForController := strings.HasPrefix(name, "leader-elect") || slices.Contains([]string{"workers", "resync", shardsFlag, objectsFlag}, name)
		p.refuse(isForController, "-%s is for the controller, but -%s=%s runs none: remove one of the two", name, serveFlag, serveWebhook)
	}
	return p
}

func (o *Options) hasNoWebhooks() bool {
	return cmp.Or(o.WebhookAddress, serve.Off) == serve.Off
}

func (o *Options) validateWebhooks() problems {
	var p problems
	if o.hasNoWebhooks() {
		p.refuse(o.WebhookFolder != "", "-%s needs -%s", webhookFolderFlag, webhookFlag)
		p.refuse(o.WebhookClients != "", "-%s needs -%s", webhookClientsFlag, webhookFlag)
		return p
	}
	p.refuse(len(validation.IsDNS1035Label(o.WebhookName+webhookSuffix)) > 0,
		"-%s must be the beginning of a Service's name such as podmanager, not %q", webhookNameFlag, o.WebhookName)
	if o.WebhookFolder != "" {
		return p // the issuer of that certificate handles the rest
	}
	if o.WebhookNamespace == "" {
		p.refuse(true, "-%s is needed outside a cluster: give the namespace to keep the Secret in, such as podmanager-system", webhookNamespaceFlag)
	} else {
		p.refuse(!isLabel(o.WebhookNamespace), "-%s must be the name of a namespace such as podmanager-system, not %q",
			webhookNamespaceFlag, o.WebhookNamespace)
	}
	for _, host := range o.WebhookHosts {
		p.refuse(net.ParseIP(host) == nil && len(validation.IsDNS1123Subdomain(host)) > 0,
			"-%s must be a DNS name or an IP address without a port, not %q", webhookHostFlag, host)
	}
	p.refuse(o.WebhookLifetime < certificates.MinLifetime, "-%s must be at least %v, not %v", webhookLifetimeFlag, certificates.MinLifetime, o.WebhookLifetime)
	return p
}

// WebhookConfig is the configuration of the webhooks.
type WebhookConfig struct {
	Address string // or serve.Off
	Folder  string // with a certificate from another issuer, or empty
	Clients string // a file with the CAs of clients, or empty
	// Certificates configures the certificates that the controller issues itself.
	Certificates certificates.Config
}

func (o *Options) webhookConfig() WebhookConfig {
	return WebhookConfig{
		Address: cmp.Or(o.WebhookAddress, serve.Off),
		Folder:  o.WebhookFolder,
		Clients: o.WebhookClients,
		Certificates: certificates.Config{
			Namespace: o.WebhookNamespace, Secret: o.WebhookName + webhookSuffix, Service: o.WebhookName + webhookSuffix,
			Configuration: o.WebhookName, Hosts: o.WebhookHosts, Lifetime: o.WebhookLifetime,
		},
	}
}
