#!/usr/bin/env bash
# Fails when Prometheus would not accept the alerts of artifacts/monitoring, or when one of their unit tests fails. Changes no file.
# hack/verify-codegen.sh checks that the chart has the same alerts.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../artifacts/monitoring"
promtool=$(../../hack/tool.sh promtool)
"$promtool" check rules --lint=all --lint-fatal alerts.yaml
"$promtool" test rules alerts_test.yaml
