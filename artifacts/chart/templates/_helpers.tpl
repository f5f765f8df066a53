{{/* The beginning of all names. 52 characters leave room for what is added. */}}
{{- define "podmanager.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* The name of most objects, and of the Lease. */}}
{{- define "podmanager.controller" -}}
{{ include "podmanager.fullname" . }}-controller
{{- end -}}

{{- define "podmanager.serviceAccount" -}}
{{- default (include "podmanager.controller" .) .Values.serviceAccount.name -}}
{{- end -}}

{{/* What tells the replicas from all other pods. A Deployment's selector cannot be changed: these stay as they are. */}}
{{- define "podmanager.selectorLabels" -}}
app.kubernetes.io/name: podmanager
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: controller
{{- end -}}

{{- define "podmanager.labels" -}}
app.kubernetes.io/name: podmanager
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end -}}

{{/* A release writes the digest of its image into the chart's annotations. It holds until a digest or a tag is given. */}}
{{- define "podmanager.image" -}}
{{- $released := index .Chart.Annotations "apps.mycompany.com/image-digest" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else if or .Values.image.tag (not $released) -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Chart.AppVersion }}@{{ $released }}
{{- end -}}
{{- end -}}

{{/* Nine tenths of the memory limit, for GOMEMLIMIT: collect garbage harder rather than be killed. Empty without a limit. */}}
{{- define "podmanager.memoryLimit" -}}
{{- $limit := dig "limits" "memory" "" .Values.resources | toString -}}
{{- $factors := dict "Ki" 0.0009765625 "Mi" 1.0 "Gi" 1024.0 "k" 0.00095367431640625 "M" 0.95367431640625 "G" 953.67431640625 -}}
{{- $unit := regexFind "[A-Za-z]+$" $limit -}}
{{- if hasKey $factors $unit -}}
{{ printf "%dMiB" (mulf (trimSuffix $unit $limit | float64) (get $factors $unit) 0.9 | floor | int) }}
{{- end -}}
{{- end -}}

{{- define "podmanager.metricsPort" -}}
{{ .Values.metrics.secure | ternary 8443 8080 }}
{{- end -}}

{{/* The name of the webhooks' Service and of the Secret with their certificate. The controller makes it from the name of all names. */}}
{{- define "podmanager.webhook" -}}
{{ include "podmanager.fullname" . }}-webhook
{{- end -}}

{{/* The Secret that cert-manager writes. It has another name than the controller's own, so that neither finds what the other has made. */}}
{{- define "podmanager.webhookCertificate" -}}
{{ include "podmanager.webhook" . }}-tls
{{- end -}}

{{/* The annotation by which cert-manager finds what it writes the CA into. */}}
{{- define "podmanager.injectCA" -}}
cert-manager.io/inject-ca-from: {{ .Release.Namespace }}/{{ include "podmanager.webhook" . }}
{{- end -}}

{{/* Flags that are given, by their names at the controller. */}}
{{- define "podmanager.args" -}}
{{- $flags := .Values.flags -}}
{{- if $flags.leaderElect }}
- -leader-elect
{{- end }}
{{- if not .Values.inPlace }}
- -resize-and-drain=false
{{- end }}
{{- if .Values.metrics.secure }}
- -metrics-secure
- -metrics-bind-address=:8443
{{- if .Values.metrics.certificateSecret }}
- -metrics-cert-dir=/etc/podmanager/metrics
{{- end }}
{{- end }}
{{- if .Values.metrics.objects }}
- -object-metrics
{{- end }}
{{- range $flag, $value := dict
      "v" $flags.verbosity
      "vmodule" $flags.vmodule
      "logging-format" $flags.loggingFormat
      "workers" $flags.workers
      "selector" $flags.selector
      "resync" $flags.resync
      "kube-api-qps" $flags.kubeAPIQPS
      "kube-api-burst" $flags.kubeAPIBurst
      "leader-elect-lease-duration" $flags.leaderElectLeaseDuration
      "leader-elect-renew-deadline" $flags.leaderElectRenewDeadline
      "leader-elect-retry-period" $flags.leaderElectRetryPeriod
      "webhook-cert-lifetime" (and .Values.webhook.enabled (not .Values.webhook.certManager.enabled) | ternary .Values.webhook.certificateLifetime nil) }}
{{- if not (kindIs "invalid" $value) }}
- {{ printf "-%s=%s" $flag (kindIs "string" $value | ternary $value (toJson $value)) | quote }}
{{- end }}
{{- end }}
{{- if .Values.shards }}
- -shards={{ .Values.shards }}
{{- end }}
{{- /* Two releases in one namespace must not share a Lease. */}}
{{- $name := include "podmanager.controller" . }}
{{- if and $flags.leaderElect (ne $name "podmanager-controller") }}
- -leader-elect-resource-name={{ $name }}
{{- end }}
{{- range .Values.namespaces }}
- -namespace={{ . }}
{{- end }}
{{- if .Values.webhook.enabled }}
- -webhook-bind-address=:9443
{{- if .Values.webhook.certManager.enabled }}
- -webhook-cert-dir=/etc/podmanager/webhook
{{- end }}
{{- if or .Values.webhook.clientCA.configMap .Values.webhook.clientCA.secret }}
- -webhook-client-ca-file=/etc/podmanager/webhook-client/{{ .Values.webhook.clientCA.key }}
{{- end }}
{{- if ne (include "podmanager.fullname" .) "podmanager" }}
- -webhook-name={{ include "podmanager.fullname" . }}
{{- end }}
{{- end }}
{{- range .Values.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end -}}
