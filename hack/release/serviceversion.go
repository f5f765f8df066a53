package main

import (
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

var (
	//go:embed bundle.yaml
	bundleYAML []byte
	//go:embed icon.svg
	icon []byte
)

// operator has what the manifests contain for the controller, grouped by what OLM does with it.
type operator struct {
	crd, deployment, namespace manifest
	clusterRules, rules        []any      // what the controller's ServiceAccount may do in all namespaces, and in its own namespace
	others                     []manifest // objects that are applied unchanged, or left out
}

// readOperator groups the manifests. The ServiceAccount, its roles and their bindings become permissions, from which OLM creates them again.
func readOperator(manifests []manifest) (operator, error) {
	var found operator
	account := ""
	for _, one := range manifests {
		switch one.kind() {
		case "Deployment":
			found.deployment = one
			account = text(one.object, "spec", "template", "spec", "serviceAccountName")
		case "CustomResourceDefinition":
			found.crd = one
		case "Namespace":
			found.namespace = one
		}
	}
	if account == "" {
		return found, errors.New("the manifests have no Deployment with a ServiceAccount")
	}
	found.readRules(manifests, account)
	if found.crd.object == nil || found.clusterRules == nil || found.rules == nil || found.namespace.object == nil {
		return found, errors.New("the manifests lack a CRD, a Namespace, or roles of the controller")
	}
	return found, nil
}

// readRules collects the rules of the roles that are bound to the ServiceAccount. All objects but the Deployment, the ServiceAccount, and these
// roles and bindings go to others.
func (o *operator) readRules(manifests []manifest, account string) {
	bound := map[string]bool{}
	for _, one := range manifests {
		if isBindingOf(one, account) {
			bound[text(one.object, "roleRef", "kind")+" "+text(one.object, "roleRef", "name")] = true
		}
	}
	for _, one := range manifests {
		rules, _ := one.object["rules"].([]any)
		isBound := bound[one.kind()+" "+one.name()]
		switch {
		case one.kind() == "Deployment", one.kind() == "ServiceAccount" && one.name() == account, isBindingOf(one, account):
		case one.kind() == "ClusterRole" && isBound:
			o.clusterRules = append(o.clusterRules, rules...)
		case one.kind() == "Role" && isBound:
			o.rules = append(o.rules, rules...)
		default:
			o.others = append(o.others, one)
		}
	}
}

// isBindingOf reports whether an object binds a role to only this ServiceAccount.
func isBindingOf(one manifest, account string) bool {
	subjects, _ := one.object["subjects"].([]any)
	return strings.HasSuffix(one.kind(), "RoleBinding") && len(subjects) == 1 &&
		text(subjects[0], "kind") == "ServiceAccount" && text(subjects[0], "name") == account
}

// serviceVersion returns bundle.yaml completed with what is known from elsewhere.
func (b bundling) serviceVersion(operator operator, artifacts string) (map[string]any, error) {
	var csv map[string]any
	if err := yaml.Unmarshal(bundleYAML, &csv); err != nil {
		return nil, err
	}
	if err := b.addMetadata(csv, operator, artifacts); err != nil {
		return nil, err
	}
	least, err := leastKubernetes(filepath.Join(artifacts, "chart", "Chart.yaml"))
	if err != nil {
		return nil, err
	}
	deployment, err := b.install(operator)
	if err != nil {
		return nil, err
	}
	spec := csv["spec"].(map[string]any)
	spec["version"] = b.version.number()
	spec["minKubeVersion"] = least
	spec["icon"] = []any{map[string]any{"base64data": base64.StdEncoding.EncodeToString(icon), "mediatype": "image/svg+xml"}}
	spec["install"] = deployment
	spec["relatedImages"] = []any{map[string]any{"name": "controller", "image": b.pinned()}}
	if b.replaces != "" {
		spec["replaces"] = "podmanager." + string(b.replaces)
	}
	return csv, addDefinition(spec, operator.crd.object)
}

func (b bundling) addMetadata(csv map[string]any, operator operator, artifacts string) error {
	examples, err := readExamples(filepath.Join(artifacts, "examples"))
	if err != nil {
		return err
	}
	namespace, err := json.Marshal(operator.namespace.object)
	if err != nil {
		return err
	}
	metadata := csv["metadata"].(map[string]any)
	metadata["name"] = "podmanager." + string(b.version)
	labels := map[string]any{}
	for platform := range strings.FieldsSeq(b.platforms) {
		system, architecture, ok := strings.Cut(platform, "/")
		if !ok {
			return fmt.Errorf("the platform %q is not OS/ARCH", platform)
		}
		labels["operatorframework.io/os."+system] = "supported"
		labels["operatorframework.io/arch."+architecture] = "supported"
	}
	metadata["labels"] = labels
	annotations := metadata["annotations"].(map[string]any)
	annotations["alm-examples"] = examples
	annotations["containerImage"] = b.pinned()
	annotations["createdAt"] = b.created
	annotations["operatorframework.io/suggested-namespace"] = operator.namespace.name()
	// The template has the namespace's labels, which decide which pods may run there.
	annotations["operatorframework.io/suggested-namespace-template"] = string(namespace)
	return nil
}

// readExamples returns all examples as the JSON list of the annotation alm-examples. The console of OpenShift offers them to users.
func readExamples(folder string) (string, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return "", err
	}
	if len(paths) == 0 {
		return "", fmt.Errorf("there are no examples in %s", folder)
	}
	var all []any
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		var example map[string]any
		if err := yaml.Unmarshal(data, &example); err != nil {
			return "", fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, example)
	}
	list, err := json.MarshalIndent(all, "", "  ")
	return string(list), err
}

// leastKubernetes returns the minimum version from the chart: >=1.34.0-0, where -0 admits the version numbers of vendors.
func leastKubernetes(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	var chart struct {
		KubeVersion string `json:"kubeVersion"`
	}
	if err := yaml.Unmarshal(data, &chart); err != nil {
		return "", err
	}
	least, ok := strings.CutPrefix(strings.TrimSuffix(chart.KubeVersion, "-0"), ">=")
	if !ok || !semantic.MatchString("v"+least) {
		return "", fmt.Errorf("%s has kubeVersion %q, want one such as >=1.34.0-0", path, chart.KubeVersion)
	}
	return least, nil
}

// install returns how OLM installs the controller: the Deployment, and the rights of its ServiceAccount.
func (b bundling) install(operator operator) (map[string]any, error) {
	deployment := operator.deployment.object
	containers, _ := at(deployment, "spec", "template", "spec", "containers").([]any)
	if len(containers) != 1 {
		return nil, fmt.Errorf("the Deployment has %d containers, want one", len(containers))
	}
	containers[0].(map[string]any)["image"] = b.pinned()
	account := at(deployment, "spec", "template", "spec", "serviceAccountName")
	return map[string]any{
		"strategy": "deployment",
		"spec": map[string]any{
			"clusterPermissions": []any{map[string]any{"serviceAccountName": account, "rules": operator.clusterRules}},
			"permissions":        []any{map[string]any{"serviceAccountName": account, "rules": operator.rules}},
			"deployments": []any{map[string]any{
				"name": operator.deployment.name(), "label": at(deployment, "metadata", "labels"), "spec": deployment["spec"],
			}},
		},
	}, nil
}
