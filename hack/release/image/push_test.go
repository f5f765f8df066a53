package main

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// buildTest builds an image of a small program.
func buildTest(t *testing.T, folder string) v1.Hash {
	t.Helper()
	digest, err := buildInto(folder, reference{"docker.io/local/web:1", "1"}, stamps{"v1.2.3", "abc", testTime},
		[]string{compiled(t, "linux/amd64"), compiled(t, "linux/arm64")})
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

// TestPush pushes to a registry with the referrers API, and to one without it.
func TestPush(t *testing.T) {
	folder := t.TempDir()
	digest := buildTest(t, folder)
	for kind, referrers := range map[string]bool{"with referrers": true, "without referrers": false} {
		t.Run(kind, func(t *testing.T) {
			t.Setenv("DOCKER_CONFIG", t.TempDir())
			quiet := registry.Logger(log.New(io.Discard, "", 0))
			server := httptest.NewServer(registry.New(registry.WithReferrersSupport(referrers), quiet))
			defer server.Close()
			ref := strings.TrimPrefix(server.URL, "http://") + "/podmanager:v1"
			if err := run([]string{"push", "-layout", filepath.Join(folder, "layout"), "-ref", ref}); err != nil {
				t.Fatal(err)
			}
			checkPushed(t, ref, digest, folder)
		})
	}
}

// checkPushed fails unless the registry has the complete image with this digest, and each image's SBOM is the one next to the layout.
func checkPushed(t *testing.T, ref string, digest v1.Hash, folder string, options ...remote.Option) {
	t.Helper()
	tag, err := name.NewTag(ref)
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Index(tag, options...)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := index.Digest(); err != nil || got != digest {
		t.Errorf("the registry has %s (error %v), want %s", got, err, digest)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	platforms := []string{}
	for _, line := range manifest.Manifests {
		platforms = append(platforms, line.Platform.String())
		if line.ArtifactType != "" {
			continue
		}
		image, err := index.Image(line.Digest)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate.Image(image); err != nil {
			t.Error(err)
		}
		want, err := os.ReadFile(filepath.Join(folder, "podmanager_"+line.Platform.OS+"_"+line.Platform.Architecture+".spdx.json"))
		if err != nil {
			t.Fatal(err)
		}
		if got := attachedTo(t, tag.Context().Digest(line.Digest.String()), options...); !bytes.Equal(got, want) {
			t.Errorf("%s has another SBOM attached than the one beside it", line.Platform)
		}
	}
	if got := strings.Join(platforms, " "); got != "linux/amd64 linux/arm64 unknown/unknown unknown/unknown" {
		t.Errorf("the index has %s", got)
	}
}

// attachedTo returns the only document that the registry lists among the image's referrers.
func attachedTo(t *testing.T, image name.Digest, options ...remote.Option) []byte {
	t.Helper()
	referrers, err := remote.Referrers(image, options...)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := referrers.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 {
		t.Fatalf("referrers of %s: %+v, error %v; want one", image, manifest, err)
	}
	artifact, err := remote.Image(image.Context().Digest(manifest.Manifests[0].Digest.String()), options...)
	if err != nil {
		t.Fatal(err)
	}
	if own, err := artifact.Manifest(); err != nil || own.ArtifactType != string(spdxType) {
		t.Errorf("the artifact is %+v, error %v; want one of type %s", own, err, spdxType)
	}
	layers, err := artifact.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("layers %v, error %v; want one", layers, err)
	}
	if kind, err := layers[0].MediaType(); err != nil || kind != spdxType {
		t.Errorf("the document is of type %s, error %v", kind, err)
	}
	stream, err := layers[0].Compressed()
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	document, err := io.ReadAll(stream)
	if err != nil {
		t.Fatal(err)
	}
	return document
}

func TestPushRefused(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	folder := t.TempDir()
	buildTest(t, folder)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	err := run([]string{"push", "-layout", filepath.Join(folder, "layout"), "-ref", host + "/podmanager:v1"})
	if err == nil || !strings.Contains(err.Error(), "docker login "+host) {
		t.Errorf("error %v, want one that tells how to log in", err)
	}
}
