package main

import (
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

func bundleCommand(args []string) error {
	flags := flag.NewFlagSet("release bundle", flag.ContinueOnError)
	var b bundling
	flags.Var(&b.version, "version", "the version, such as v0.2.0")
	flags.Var(&b.image, "ref", "name and tag of the controller's image")
	flags.StringVar(&b.created, "created", "", "the commit's time, for example 2026-01-31T12:00:00Z")
	layout := flags.String("layout", "", "the image, as make release has built it")
	flags.StringVar(&b.platforms, "platforms", "", "the platforms of the image, such as 'linux/amd64 linux/arm64'")
	flags.Var(&b.replaces, "replaces", "the version of the previous bundle, if there is one")
	out := flags.String("out", "", "the folder to write; an older bundle there is replaced")
	if err := parse(flags, args, "replaces"); err != nil {
		return err
	}
	var err error
	if b.image.digest, err = imageDigest(*layout, b.image.tag); err != nil {
		return fmt.Errorf("a bundle names the image by its digest, so make release VERSION=%s comes first: %w", b.version, err)
	}
	files, err := b.files("artifacts", os.Stdout)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(*out); err != nil {
		return err
	}
	for _, file := range files {
		path := filepath.Join(*out, file.name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, file.data, os.FileMode(file.mode)); err != nil {
			return err
		}
	}
	fmt.Printf("The bundle of %s is in %s.\n\nNext: docker build -f %[2]s/bundle.Dockerfile -t %s-bundle:%[1]s %[2]s, push that, and add it to a catalogue.\n",
		b.version, *out, b.image.name)
	return nil
}

// bundling has the inputs of a bundle, besides the manifests.
type bundling struct {
	version, replaces version
	image             image
	created           string
	platforms         string
}

// pinned returns the image with only its digest: skopeo, and mirrors that are created with it, refuse a name with both tag and digest.
func (b bundling) pinned() string { return b.image.name + "@" + b.image.digest }

// carried are the kinds that OLM applies from a bundle besides the ClusterServiceVersion (olm.operatorframework.io, Packaging additional objects
// alongside an operator). Newer versions accept NetworkPolicies, too, but older ones then refuse the whole bundle. No version accepts a
// ValidatingAdmissionPolicy or its binding (operator-framework/operator-sdk issue 7038): bundle.yaml tells users to apply them.
var carried = []string{
	"ClusterRole", "ClusterRoleBinding", "ConfigMap", "CustomResourceDefinition", "PodDisruptionBudget", "PriorityClass", "PrometheusRule",
	"Role", "RoleBinding", "Secret", "Service", "ServiceAccount", "ServiceMonitor",
}

// files returns the files of the bundle: the ClusterServiceVersion, the objects that OLM applies besides it, and the metadata. It prints which
// manifests are left out.
func (b bundling) files(artifacts string, told io.Writer) ([]file, error) {
	manifests, err := readManifests(artifacts)
	if err != nil {
		return nil, err
	}
	operator, err := readOperator(manifests)
	if err != nil {
		return nil, err
	}
	csv, err := b.serviceVersion(operator, artifacts)
	if err != nil {
		return nil, err
	}
	data, err := yaml.Marshal(csv)
	if err != nil {
		return nil, err
	}
	files := []file{{"manifests/podmanager.clusterserviceversion.yaml", 0o644, data}}
	for _, one := range operator.others {
		switch {
		case one.kind() == "Namespace":
			fmt.Fprintf(told, "Namespace %s is left out: users tell OLM where to install, and the bundle only suggests this namespace\n", one.name())
		case !slices.Contains(carried, one.kind()):
			fmt.Fprintf(told, "%s %s is left out: OLM does not take it from a bundle, so apply it yourself\n", one.kind(), one.name())
		default:
			data, err := yaml.Marshal(withoutNamespace(one.object))
			if err != nil {
				return nil, err
			}
			files = append(files, file{fmt.Sprintf("manifests/%s.%s.yaml", one.name(), strings.ToLower(one.kind())), 0o644, data})
		}
	}
	return append(files, b.metadata(text(csv, "spec", "maturity"))...), nil
}

// withoutNamespace returns a copy of an object without its namespace, because OLM chooses the namespace.
func withoutNamespace(object map[string]any) map[string]any {
	copied := maps.Clone(object)
	metadata := maps.Clone(copied["metadata"].(map[string]any))
	delete(metadata, "namespace")
	copied["metadata"] = metadata
	return copied
}

// metadata describes the contents of the bundle, once for tools that read files and once for tools that read images.
func (b bundling) metadata(maturity string) []file {
	// Channels are named after what their versions promise: candidate, fast, stable.
	channel := "stable"
	if maturity != "stable" || strings.Contains(string(b.version), "-") {
		channel = "candidate"
	}
	const prefix = "operators.operatorframework.io.bundle."
	labels := [][2]string{
		{prefix + "mediatype.v1", "registry+v1"},
		{prefix + "manifests.v1", "manifests/"},
		{prefix + "metadata.v1", "metadata/"},
		{prefix + "package.v1", "podmanager"},
		{prefix + "channels.v1", channel},
		{prefix + "channel.default.v1", channel},
	}
	annotations, dockerfile := "annotations:\n", "FROM scratch\n"
	for _, label := range labels {
		annotations += fmt.Sprintf("  %s: %s\n", label[0], label[1])
		dockerfile += fmt.Sprintf("LABEL %s=%s\n", label[0], label[1])
	}
	dockerfile += "COPY manifests /manifests/\nCOPY metadata /metadata/\n"
	return []file{{"metadata/annotations.yaml", 0o644, []byte(annotations)}, {"bundle.Dockerfile", 0o644, []byte(dockerfile)}}
}
