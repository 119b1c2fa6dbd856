{{- define "dialwatch.name" -}}
{{- if contains "dialwatch" .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-dialwatch" (.Release.Name | trunc 30 | trimSuffix "-") }}{{ end }}
{{- end }}

{{- define "dialwatch.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | quote }}
{{ include "dialwatch.selector" . }}
{{- end }}

{{- define "dialwatch.selector" -}}
app.kubernetes.io/name: dialwatch
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "dialwatch.image" -}}
{{- if .Values.image.digest }}{{ .Values.image.repository }}@{{ .Values.image.digest }}{{ else }}{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{- define "dialwatch.account" -}}
{{- if .Values.serviceAccount.create }}{{ .Values.serviceAccount.name | default (include "dialwatch.name" .) }}{{ else }}{{ .Values.serviceAccount.name | default "default" }}{{ end }}
{{- end }}

{{/* Whether lines and signals arrive over HTTP. */}}
{{- define "dialwatch.http" -}}
{{- if or (and (eq .Values.mode "one") .Values.collector.http) (and (eq .Values.mode "split") (eq .Values.collector.source "http")) }}true{{ end }}
{{- end }}

{{/* The label of all metrics and alerts of this release; a release of the same name may be in another namespace. */}}
{{- define "dialwatch.installation" -}}
{{- dig "lake" "installation" "" .Values.config | default (printf "%s/%s" .Release.Namespace .Release.Name) }}
{{- end }}

{{/* dialwatch.yaml: the settings of the values, with the name of the installation, and the addresses and the file that ports and volumes of the pods are made for. */}}
{{- define "dialwatch.config" -}}
{{- $addresses := dict
  "lake" (dict "installation" (include "dialwatch.installation" .))
  "collector" (dict "metrics_listen" "0.0.0.0:9463")
  "evaluator" (dict "metrics_listen" "0.0.0.0:9465" "judge_calls" "/var/lib/dialwatch/judge_calls.sqlite")
  "monitor" (dict "listen" "0.0.0.0:8000" "metrics_listen" "0.0.0.0:9464") }}
{{- if include "dialwatch.http" . }}
{{- $addresses = mustMergeOverwrite $addresses (dict "collector" (dict "http" (dict "listen" "0.0.0.0:8080"))) }}
{{- end }}
{{- if and .Values.ingress.enabled (not (dig "monitor" "hosts" list .Values.config)) }}
{{- $addresses = mustMergeOverwrite $addresses (dict "monitor" (dict "hosts" (list .Values.ingress.host))) }}
{{- end }}
{{- if eq .Values.mode "split" }}
{{- if not (contains "://" .Values.config.lake.root) }}{{ fail "mode split needs a lake on a store: config.lake.root: s3://bucket/prefix" }}{{ end }}
{{- if and (eq .Values.collector.source "kafka") (not (dig "collector" "kafka" dict .Values.config)) }}{{ fail "collector.source kafka needs config.collector.kafka" }}{{ end }}
{{- end }}
{{- toYaml (mustMergeOverwrite (mustDeepCopy .Values.config) $addresses) }}
{{- end }}

{{/* A pod: (dict "root" $ "part" name "args" list "ports" list "probes" name of a port "resources" ... "volume" bool) */}}
{{- define "dialwatch.pod" -}}
metadata:
  labels:
    {{- include "dialwatch.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .part }}
  annotations:
    checksum/config: {{ include "dialwatch.config" .root | sha256sum }}
spec:
  {{- include "dialwatch.podSettings" .root | nindent 2 }}
  terminationGracePeriodSeconds: 120
  containers:
    - name: {{ .part }}
      {{- include "dialwatch.container" . | nindent 6 }}
      ports:
        {{- range $name, $port := .ports }}
        - {name: {{ $name }}, containerPort: {{ $port }}, protocol: TCP}
        {{- end }}
      startupProbe:
        tcpSocket: {port: {{ .probe }}}
        periodSeconds: 5
        failureThreshold: 60
      readinessProbe:
        httpGet: {path: /readyz, port: {{ .probe }}}
        periodSeconds: 10
        timeoutSeconds: 5
      livenessProbe:
        {{- if .healthz }}
        httpGet: {path: /healthz, port: {{ .probe }}}
        {{- else }}
        # /healthz of the monitor tells of other parts too; a restart would not help them.
        tcpSocket: {port: {{ .probe }}}
        {{- end }}
        periodSeconds: 20
        timeoutSeconds: 10
        failureThreshold: 6
  volumes:
    {{- include "dialwatch.volumes" . | nindent 4 }}
{{- end }}

{{- define "dialwatch.podSettings" -}}
serviceAccountName: {{ include "dialwatch.account" . }}
automountServiceAccountToken: false
# Kubernetes would name the Service in variables that begin with DIALWATCH_, as settings do.
enableServiceLinks: false
securityContext:
  {{- toYaml .Values.podSecurityContext | nindent 2 }}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "dialwatch.container" -}}
image: {{ include "dialwatch.image" .root }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
args: {{ concat .args (list "-c" "/etc/dialwatch/dialwatch.yaml") | toJson }}
{{- if or .root.Values.env .root.Values.secretEnv }}
env:
  {{- range .root.Values.env }}
  - {name: {{ .name }}, value: {{ .value | quote }}}
  {{- end }}
  {{- range .root.Values.secretEnv }}
  - name: {{ .name }}
    valueFrom:
      secretKeyRef: {name: {{ .secret }}, key: {{ .key }}}
  {{- end }}
{{- end }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
resources:
  {{- toYaml .resources | nindent 2 }}
volumeMounts:
  - {name: config, mountPath: /etc/dialwatch, readOnly: true}
  - {name: data, mountPath: /var/lib/dialwatch}
  - {name: tmp, mountPath: /tmp}
  {{- range .root.Values.secretFiles }}
  - {name: secret-{{ . }}, mountPath: /run/secrets/dialwatch/{{ . }}, readOnly: true}
  {{- end }}
  {{- with .root.Values.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{- define "dialwatch.volumes" -}}
- name: config
  configMap: {name: {{ include "dialwatch.name" .root }}}
- name: tmp
  emptyDir: {}
{{- if not .volume }}
- name: data
  emptyDir: {}
{{- end }}
{{- range .root.Values.secretFiles }}
- name: secret-{{ . }}
  secret: {secretName: {{ . }}, defaultMode: 0440}
{{- end }}
{{- with .root.Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "dialwatch.claim" -}}
- metadata:
    name: data
  spec:
    accessModes: [ReadWriteOnce]
    {{- with .storageClassName }}
    storageClassName: {{ . }}
    {{- end }}
    resources:
      requests:
        storage: {{ .size }}
{{- end }}
