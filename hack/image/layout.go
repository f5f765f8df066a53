package main

import (
	"fmt"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// reference is the name that an image has in a layout, in the forms that its readers want.
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
	if registry == name.DefaultRegistry { // the library has a name of its own for Docker Hub
		registry = "docker.io"
	}
	return reference{full: registry + "/" + tag.RepositoryStr() + ":" + tag.TagStr(), tag: tag.TagStr()}, nil
}

// writeLayout writes an OCI layout with one entry, an image or an index of images: with more, crane would refuse it.
func writeLayout(folder string, ref reference, content mutate.Appendable) (layout.Path, error) {
	index := mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), mutate.IndexAddendum{
		Add: content,
		Descriptor: v1.Descriptor{Annotations: map[string]string{
			"io.containerd.image.name":          ref.full,
			"org.opencontainers.image.ref.name": ref.tag,
		}},
	})
	return layout.Write(folder, index)
}
