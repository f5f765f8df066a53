// Package autoscalers tests the examples of artifacts/integrations with the code of the autoscalers that they are for: KEDA and the Vertical
// Pod Autoscaler. Only the API server is simulated, from artifacts/crd.yaml.
package autoscalers
