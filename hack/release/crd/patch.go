package main

import (
	"fmt"

	"github.com/mycompany/podmanager/pkg/webhook/conversion"
)

// patch returns a JSON patch for the CRD that adds a version, and the webhook that converts it. It has no caBundle: the creator of the certificate
// fills it in, and kubectl apply does not change fields that a manifest does not have.
func patch(crd map[string]any, name string) (any, error) {
	for _, each := range versionsOf(crd) {
		version, _ := each.(map[string]any)
		if version["name"] != name {
			continue
		}
		if version["storage"] != false {
			return nil, fmt.Errorf("version %s is the stored one", name)
		}
		bound(version)
		describeDefaults(version)
		return []any{
			map[string]any{"op": "add", "path": "/spec/versions/-", "value": version},
			map[string]any{"op": "add", "path": "/spec/conversion", "value": map[string]any{
				"strategy": "Webhook",
				"webhook": map[string]any{
					"conversionReviewVersions": []any{"v1"},
					"clientConfig": map[string]any{"service": map[string]any{
						"namespace": "podmanager-system", "name": "podmanager-webhook", "path": conversion.Path, "port": 443,
					}},
				},
			}},
		}, nil
	}
	return nil, fmt.Errorf("the CRD has no version %s", name)
}
