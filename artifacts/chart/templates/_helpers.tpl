{{/* The prefix of all names. 52 characters leave room for the suffixes. */}}
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

{{/* The Deployments of the release, as the suffixes of their names. A template about one Deployment takes a list of the root and its suffix. */}}
{{- define "podmanager.components" -}}
controller {{- if and .Values.webhook.enabled .Values.webhook.deployment.enabled }} webhook {{- end }}
{{- end -}}

{{/* The Deployment that serves the webhooks. */}}
{{- define "podmanager.webhookComponent" -}}
{{ last (splitList " " (include "podmanager.components" .)) }}
{{- end -}}

{{/* Not empty for the Deployment that serves webhooks. */}}
{{- define "podmanager.servesWebhooks" -}}
{{- $root := first . }}
{{- if and $root.Values.webhook.enabled (eq (last .) (include "podmanager.webhookComponent" $root)) -}} true {{- end }}
{{- end -}}

{{- define "podmanager.serviceAccount" -}}
{{- $root := first . }}
{{- $given := eq (last .) "webhook" | ternary $root.Values.webhook.deployment.serviceAccountName $root.Values.serviceAccount.name }}
{{- default (printf "%s-%s" (include "podmanager.fullname" $root) (last .)) $given }}
{{- end -}}

{{/* The labels that tell the replicas from all other pods. A Deployment's selector is immutable, so these labels must never change. */}}
{{- define "podmanager.selectorLabels" -}}
app.kubernetes.io/name: podmanager
app.kubernetes.io/instance: {{ (first .).Release.Name }}
app.kubernetes.io/component: {{ last . }}
{{- end -}}

{{- define "podmanager.labels" -}}
app.kubernetes.io/name: podmanager
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The same labels with additional labels of one object, which take precedence over commonLabels. Takes a list of the root and the additional labels. */}}
{{- define "podmanager.labelsWith" -}}
{{- mergeOverwrite (include "podmanager.labels" (first .) | fromYaml) (last .) | toYaml }}
{{- end -}}

{{/* The labels of pods. The labels of the selector take precedence, because without them the Deployment would not find its pods. */}}
{{- define "podmanager.podLabels" -}}
{{- $values := (first .).Values }}
{{- mergeOverwrite (dict) $values.commonLabels $values.podLabels (include "podmanager.selectorLabels" . | fromYaml) | toYaml }}
{{- end -}}

{{/* make release writes the digest of the image into the chart's annotations. It applies unless the values have a digest or a tag. */}}
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

{{/* Nine tenths of the memory limit of the given resources, for GOMEMLIMIT, so that Go collects more garbage before the kernel kills the process. Empty without a limit. */}}
{{- define "podmanager.memoryLimit" -}}
{{- $limit := dig "limits" "memory" "" . | toString -}}
{{- $factors := dict "Ki" 0.0009765625 "Mi" 1.0 "Gi" 1024.0 "k" 0.00095367431640625 "M" 0.95367431640625 "G" 953.67431640625 -}}
{{- $unit := regexFind "[A-Za-z]+$" $limit -}}
{{- if hasKey $factors $unit -}}
{{ printf "%dMiB" (mulf (trimSuffix $unit $limit | float64) (get $factors $unit) 0.9 | floor | int) }}
{{- end -}}
{{- end -}}

{{- define "podmanager.metricsPort" -}}
{{ .Values.metrics.secure | ternary 8443 8080 }}
{{- end -}}

{{/* The name of the webhooks' Service and of the Secret with their certificate. The controller derives the same name from -webhook-name. */}}
{{- define "podmanager.webhook" -}}
{{ include "podmanager.fullname" . }}-webhook
{{- end -}}

{{/* The Secret that cert-manager writes. The controller's own Secret has another name, so that neither uses the other's certificate. */}}
{{- define "podmanager.webhookCertificate" -}}
{{ include "podmanager.webhook" . }}-tls
{{- end -}}

{{/* The annotation that tells cert-manager to write the CA into an object. */}}
{{- define "podmanager.injectCA" -}}
cert-manager.io/inject-ca-from: {{ .Release.Namespace }}/{{ include "podmanager.webhook" . }}
{{- end -}}

{{/* The prefix of the names of the policies. The controller of a release without policies checks for those of artifacts/policy.yaml. */}}
{{- define "podmanager.policy" -}}
{{ and .Values.admissionPolicy.enabled (not .Values.namespaces) | ternary (include "podmanager.fullname" .) "podmanager" }}
{{- end -}}

{{/* The arguments of the container of a Deployment. */}}
{{- define "podmanager.args" -}}
{{- $root := first . }}
{{- $flags := $root.Values.flags }}
{{- $isController := eq (last .) "controller" }}
{{- $webhook := dict }}
{{- if include "podmanager.servesWebhooks" . }}
{{- $webhook = $root.Values.webhook }}
{{- end }}
{{- if not $isController }}
- -serve=webhook
{{- else if $flags.leaderElect }}
- -leader-elect
{{- end }}
{{- if not $root.Values.inPlace }}
- -resize-and-drain=false
{{- end }}
{{- if and $isController (ne (include "podmanager.policy" $root) "podmanager") }}
- -policy-name={{ include "podmanager.policy" $root }}
{{- end }}
{{- with $root.Values.metrics }}
{{- if .secure }}
- -metrics-secure
- -metrics-bind-address=:8443
{{- if .certificateSecret }}
- -metrics-cert-dir=/etc/podmanager/metrics
{{- end }}
{{- end }}
{{- if and .objects $isController }}
- -object-metrics
{{- end }}
{{- end }}
{{- $given := dict
      "v" $flags.verbosity
      "vmodule" $flags.vmodule
      "logging-format" $flags.loggingFormat
      "selector" $flags.selector
      "kube-api-qps" $flags.kubeAPIQPS
      "kube-api-burst" $flags.kubeAPIBurst }}
{{- if $isController }}
{{- $given = merge $given (dict
      "workers" $flags.workers
      "default-spreading" $flags.defaultSpreading
      "resync" $flags.resync
      "leader-elect-lease-duration" $flags.leaderElectLeaseDuration
      "leader-elect-renew-deadline" $flags.leaderElectRenewDeadline
      "leader-elect-retry-period" $flags.leaderElectRetryPeriod) }}
{{- end }}
{{- if and $webhook (not $root.Values.webhook.certManager.enabled) }}
{{- $_ := set $given "webhook-cert-lifetime" $webhook.certificateLifetime }}
{{- end }}
{{- range $flag, $value := $given }}
{{- if not (kindIs "invalid" $value) }}
- {{ printf "-%s=%s" $flag (kindIs "string" $value | ternary $value (toJson $value)) | quote }}
{{- end }}
{{- end }}
{{- if $isController }}
{{- include "podmanager.shareArgs" $root }}
{{- end }}
{{- with $webhook }}
- -webhook-bind-address=:9443
{{- if .certManager.enabled }}
- -webhook-cert-dir=/etc/podmanager/webhook
{{- end }}
{{- if or .clientCA.configMap .clientCA.secret }}
- -webhook-client-ca-file=/etc/podmanager/webhook-client/{{ .clientCA.key }}
{{- end }}
{{- if ne (include "podmanager.fullname" $root) "podmanager" }}
- -webhook-name={{ include "podmanager.fullname" $root }}
{{- end }}
{{- end }}
{{- range $isController | ternary $root.Values.extraArgs $root.Values.webhook.deployment.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end -}}

{{/* The controller's arguments about how it divides the work with other controllers: shards, the Lease, namespaces. */}}
{{- define "podmanager.shareArgs" }}
{{- if .Values.shards }}
- -shards={{ .Values.shards }}
{{- end }}
{{- /* Two releases in one namespace must not share a Lease. */}}
{{- $name := include "podmanager.controller" . }}
{{- if and .Values.flags.leaderElect (ne $name "podmanager-controller") }}
- -leader-elect-resource-name={{ $name }}
{{- end }}
{{- range .Values.namespaces }}
- -namespace={{ . }}
{{- end }}
{{- end -}}

{{/* The volumes that a Deployment mounts below /etc/podmanager, by folder. */}}
{{- define "podmanager.folders" -}}
{{- $root := first . }}
{{- $folders := dict }}
{{- with $root.Values.metrics }}
{{- if and .secure .certificateSecret }}
{{- $_ := set $folders "metrics" (dict "secret" (dict "secretName" .certificateSecret)) }}
{{- end }}
{{- end }}
{{- if include "podmanager.servesWebhooks" . }}
{{- with $root.Values.webhook }}
{{- if .certManager.enabled }}
{{- $_ := set $folders "webhook" (dict "secret" (dict "secretName" (include "podmanager.webhookCertificate" $root))) }}
{{- end }}
{{- if .clientCA.configMap }}
{{- $_ := set $folders "webhook-client" (dict "configMap" (dict "name" .clientCA.configMap)) }}
{{- else if .clientCA.secret }}
{{- /* Mount only the CAs: a Secret of cert-manager also has a private key. */}}
{{- $items := list (dict "key" .clientCA.key "path" .clientCA.key) }}
{{- $_ := set $folders "webhook-client" (dict "secret" (dict "secretName" .clientCA.secret "items" $items)) }}
{{- end }}
{{- end }}
{{- end }}
{{- toYaml $folders }}
{{- end -}}
