package main

import (
	"fmt"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// reference is the name of an image in a layout, in the forms that its readers need.
type reference struct {
	full string // with registry and tag, as containerd stores it: docker.io/local/web:1
	tag  string
}

func parseReference(text string) (reference, error) {
	tag, err := name.NewTag(text)
	if err != nil {
		return reference{}, fmt.Errorf("%w: say NAME:TAG, for example docker.io/local/web:1", err)
	}
	registry := tag.RegistryStr()
	if registry == name.DefaultRegistry { // the library has its own name for Docker Hub
		registry = "docker.io"
	}
	return reference{full: registry + "/" + tag.RepositoryStr() + ":" + tag.TagStr(), tag: tag.TagStr()}, nil
}

// index returns an index of the entries, each with its own descriptor.
func index(entries ...mutate.IndexAddendum) v1.ImageIndex {
	return mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), entries...)
}

// writeLayout writes an OCI layout with one entry, an image or an index of images. crane would refuse more than one.
func writeLayout(folder string, ref reference, content mutate.IndexAddendum) error {
	content.Annotations = map[string]string{
		"io.containerd.image.name":          ref.full,
		"org.opencontainers.image.ref.name": ref.tag,
	}
	_, err := layout.Write(folder, index(content))
	return err
}

// listed is an image with its description in an index.
type listed struct {
	v1.Image
	platform v1.Platform
}

// Descriptor returns a descriptor without an artifact type. The library's own would describe an image as an artifact of its configuration's type.
func (l listed) Descriptor() (*v1.Descriptor, error) {
	descriptor, err := partial.Descriptor(l.Image)
	if err != nil {
		return nil, err
	}
	descriptor.ArtifactType = ""
	descriptor.Platform = &l.platform
	return descriptor, nil
}

// entry returns the image's entry in an index.
func entry(image v1.Image) (mutate.IndexAddendum, error) {
	config, err := image.ConfigFile()
	if err != nil {
		return mutate.IndexAddendum{}, err
	}
	return mutate.IndexAddendum{Add: listed{Image: image, platform: *config.Platform()}}, nil
}

// attachedEntry returns the entry of a document about an image. No machine has its platform, so none runs it by mistake. Because it is in the
// index, any tool that copies the image copies it, too.
func attachedEntry(artifact v1.Image) mutate.IndexAddendum {
	return mutate.IndexAddendum{Add: artifact, Descriptor: v1.Descriptor{
		Platform: &v1.Platform{OS: "unknown", Architecture: "unknown"},
	}}
}
