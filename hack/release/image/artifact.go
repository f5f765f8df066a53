package main

import (
	"encoding/json"
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	spdxType  = types.MediaType("application/spdx+json")
	emptyType = types.MediaType("application/vnd.oci.empty.v1+json")
	emptyJSON = "{}"
)

// artifact is a document attached to an image as in OCI 1.1: its manifest names the image's manifest as its subject, and a registry lists it among
// the image's referrers.
type artifact struct {
	manifest []byte
	document v1.Layer
}

// attach returns the artifact for a document about an image.
func attach(document []byte, mediaType types.MediaType, image v1.Image) (v1.Image, error) {
	subject, err := partial.Descriptor(image)
	if err != nil {
		return nil, err
	}
	layer := static.NewLayer(document, mediaType)
	content, err := partial.Descriptor(layer)
	if err != nil {
		return nil, err
	}
	config, err := partial.Descriptor(static.NewLayer([]byte(emptyJSON), emptyType))
	if err != nil {
		return nil, err
	}
	manifest, err := json.Marshal(v1.Manifest{
		SchemaVersion: 2, MediaType: types.OCIManifestSchema1, ArtifactType: string(mediaType),
		Config: *config, Layers: []v1.Descriptor{*content},
		Subject: &v1.Descriptor{MediaType: subject.MediaType, Digest: subject.Digest, Size: subject.Size},
	})
	if err != nil {
		return nil, err
	}
	return partial.CompressedToImage(&artifact{manifest: manifest, document: layer})
}

func (a *artifact) RawManifest() ([]byte, error)        { return a.manifest, nil }
func (a *artifact) RawConfigFile() ([]byte, error)      { return []byte(emptyJSON), nil }
func (a *artifact) MediaType() (types.MediaType, error) { return types.OCIManifestSchema1, nil }

func (a *artifact) LayerByDigest(hash v1.Hash) (partial.CompressedLayer, error) {
	if own, err := a.document.Digest(); err != nil || hash != own {
		return nil, fmt.Errorf("the artifact has no blob %s", hash)
	}
	return a.document, nil
}
