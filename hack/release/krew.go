package main

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// pluginName is what users type after kubectl, and the name of krew's manifest: the name of the program without kubectl-.
const pluginName = "podmanager"

const home = "https://github.com/mycompany/podmanager"

// krewPlugin is a manifest of krew's index, see krew.sigs.k8s.io/docs/developer-guide/plugin-manifest.
type krewPlugin struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   map[string]string `json:"metadata"`
	Spec       krewSpec          `json:"spec"`
}

type krewSpec struct {
	Version          version        `json:"version"`
	Homepage         string         `json:"homepage"`
	ShortDescription string         `json:"shortDescription"`
	Description      string         `json:"description"`
	Caveats          string         `json:"caveats"`
	Platforms        []krewPlatform `json:"platforms"`
}

type krewPlatform struct {
	Selector metav1.LabelSelector `json:"selector"`
	URI      string               `json:"uri"`
	SHA256   string               `json:"sha256"`
	Bin      string               `json:"bin"`
}

// krew requires lines of at most 80 characters, and at most 70 in the short description.
const (
	krewShort       = "See, explain, simulate and change rollouts of PodManagers"
	krewDescription = `PodManager is an operator for stateless pods that rolls out within a budget
and rolls back by itself. This plugin shows a PodManager as the tree of its
revisions and pods, follows a rollout until it ends, says in a sentence why
one is stuck and what to type next, plays a rollout before it happens, and
does what changes one: undo, restart, pause, resume, retry, promote, scale,
set image. It converts Deployments, too.
`
	krewCaveats = `All messages and manuals say kubectl pm: link kubectl-pm to
kubectl-podmanager in a folder of your PATH.

The cluster needs PodManager itself; this command checks that it is installed:
  kubectl pm check

For completion of names, revisions and containers:
  kubectl pm completion kubectl >FOLDER/kubectl_complete-pm
  chmod +x FOLDER/kubectl_complete-pm
`
)

// krewManifest lists where each archive of the plugin is.
func krewManifest(plugins []pluginArchive, version version, url string) ([]byte, error) {
	manifest := krewPlugin{
		APIVersion: "krew.googlecontainertools.github.com/v1alpha2",
		Kind:       "Plugin",
		Metadata:   map[string]string{"name": pluginName},
		Spec: krewSpec{
			Version: version, Homepage: home, ShortDescription: krewShort, Description: krewDescription, Caveats: krewCaveats,
		},
	}
	for _, plugin := range plugins {
		sum := sha256.Sum256(plugin.archive.data)
		manifest.Spec.Platforms = append(manifest.Spec.Platforms, krewPlatform{
			Selector: metav1.LabelSelector{MatchLabels: map[string]string{"os": plugin.os, "arch": plugin.arch}},
			URI:      strings.TrimSuffix(url, "/") + "/" + plugin.archive.name,
			SHA256:   hex.EncodeToString(sum[:]),
			Bin:      plugin.program,
		})
	}
	return yaml.Marshal(manifest)
}
