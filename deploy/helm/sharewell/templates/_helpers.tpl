{{- define "sharewell.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "sharewell.pull" -}}
{{- with .Values.image.pullPolicy }}
imagePullPolicy: {{ . }}
{{- end }}
{{- end }}

{{- define "sharewell.pullSecrets" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{ toJson . }}
{{- end }}
{{- end }}

{{- define "sharewell.onGpuNodes" -}}
nodeSelector: {{ toJson .Values.nodes.selector }}
tolerations: {{ toJson .Values.nodes.tolerations }}
{{- with .Values.nodes.runtimeClassName }}
runtimeClassName: {{ . }}
{{- end }}
{{- end }}
