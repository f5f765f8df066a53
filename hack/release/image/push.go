package main

import (
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// push sends a layout to a registry, including SBOMs, with the credentials of docker login.
func push(args []string) error {
	flags := flag.NewFlagSet("image push", flag.ContinueOnError)
	folder := flags.String("layout", "", "the OCI layout to push")
	ref := flags.String("ref", "", "where to: REGISTRY/NAME:TAG")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *folder == "" || *ref == "" || flags.NArg() > 0 {
		flags.Usage()
		return errors.New("push needs -layout and -ref, and nothing else")
	}
	tag, err := name.NewTag(*ref)
	if err != nil {
		return fmt.Errorf("%w: say REGISTRY/NAME:TAG, for example registry.example.com/podmanager:v0.1.0", err)
	}
	image, err := onlyIndex(*folder)
	if err != nil {
		return err
	}
	digest, err := image.Digest()
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "Pushing to %s\n", tag)
	if err := remote.WriteIndex(tag, image, remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		return explain(err, tag)
	}
	fmt.Printf("%s@%s\n", tag, digest)
	return nil
}

// onlyIndex returns the only entry of the layout, the index of all platforms.
func onlyIndex(folder string) (v1.ImageIndex, error) {
	entries, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		return nil, fmt.Errorf("%s is not an image (%w): make one with image build", folder, err)
	}
	manifest, err := entries.IndexManifest()
	if err != nil {
		return nil, err
	}
	if len(manifest.Manifests) != 1 {
		return nil, fmt.Errorf("%s has %d entries, but must have one: make it anew with image build", folder, len(manifest.Manifests))
	}
	return entries.ImageIndex(manifest.Manifests[0].Digest)
}

// explain adds what to do if the registry refuses a request for lack of credentials.
func explain(err error, tag name.Tag) error {
	var refusal *transport.Error
	if errors.As(err, &refusal) && (refusal.StatusCode == http.StatusUnauthorized || refusal.StatusCode == http.StatusForbidden) {
		return fmt.Errorf("%w: log in with docker login %s, as someone who may push there (DOCKER_CONFIG names the folder of "+
			"another config.json)", err, tag.RegistryStr())
	}
	return err
}
