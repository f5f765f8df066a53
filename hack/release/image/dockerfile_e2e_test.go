//go:build e2e

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/containerd/platforms"
	"github.com/moby/buildkit/client/llb/sourceresolver"
	"github.com/moby/buildkit/frontend/dockerfile/dockerfile2llb"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/moby/buildkit/frontend/dockerui"
	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"
	"github.com/opencontainers/go-digest"
	specs "github.com/opencontainers/image-spec/specs-go/v1"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

var buildArgs = map[string]string{"VERSION": testVersion, "COMMIT": testRevision, "TREE": "clean", "DATE": testDate}

// offline resolves the image of Go, for which BuildKit would need a remote registry. It rejects images without a digest.
type offline struct{}

func (offline) ResolveImageConfig(_ context.Context, ref string, _ sourceresolver.Opt) (string, digest.Digest, []byte, error) {
	if !strings.Contains(ref, "@sha256:") {
		return "", "", nil, fmt.Errorf("the Dockerfile takes the image %s, and a tag can become another image: add its digest", ref)
	}
	config, err := json.Marshal(specs.Image{Platform: specs.Platform{OS: "linux", Architecture: "amd64"}})
	return ref, digest.FromBytes(config), config, err
}

// TestE2EDockerfileConfig checks that an image built from the Dockerfile has the configuration of the image that make image builds. BuildKit's
// compiler determines the configuration without building the image.
func TestE2EDockerfileConfig(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root(t), "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, architecture := range []string{"amd64", "arm64"} {
		t.Run(architecture, func(t *testing.T) {
			target := specs.Platform{OS: "linux", Architecture: architecture}
			result, err := dockerfile2llb.Dockerfile2LLB(t.Context(), text, dockerfile2llb.ConvertOpt{
				Config:         dockerui.Config{BuildArgs: buildArgs, BuildPlatforms: []specs.Platform{platforms.DefaultSpec()}},
				TargetPlatform: &target,
				MetaResolver:   offline{},
			})
			if err != nil {
				t.Fatal(err)
			}
			theirs, err := json.Marshal(result.Image)
			if err != nil {
				t.Fatal(err)
			}
			docker := v1.ConfigFile{}
			if err := json.Unmarshal(theirs, &docker); err != nil {
				t.Fatal(err)
			}
			ours := configOf(t, built(t), architecture)
			if !reflect.DeepEqual(docker.Config, ours.Config) || docker.Platform().String() != ours.Platform().String() {
				t.Errorf("the Dockerfile gives %s %+v\nmake image gives %s %+v", docker.Platform(), docker.Config, ours.Platform(), ours.Config)
			}
		})
	}
}

func configOf(t *testing.T, folder, architecture string) *v1.ConfigFile {
	t.Helper()
	entries, err := layout.ImageIndexFromPath(filepath.Join(folder, "layout"))
	if err != nil {
		t.Fatal(err)
	}
	index, err := entries.ImageIndex(onlyEntry(t, filepath.Join(folder, "layout")).Digest)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range manifest.Manifests {
		if line.Platform.Architecture != architecture {
			continue
		}
		image, err := index.Image(line.Digest)
		if err != nil {
			t.Fatal(err)
		}
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		return config
	}
	t.Fatalf("no image for %s", architecture)
	return nil
}

// TestE2EDockerfileBuild carries out the build stage like Docker, with the files that .dockerignore includes, and checks that the program is the
// same, byte for byte, as the one from make image. It also checks that the last stage contains only that program.
func TestE2EDockerfileBuild(t *testing.T) {
	t.Parallel()
	stages := stagesOf(t)
	if len(stages) != 2 || stages[0].Name != "build" {
		t.Fatalf("stages %+v, want one called build and the image", stages)
	}
	copies := []string{}
	for _, command := range stages[1].Commands {
		if copied, ok := command.(*instructions.CopyCommand); ok {
			copies = append(copies, copied.String())
		} else if command.Name() == "run" || command.Name() == "add" {
			t.Errorf("the image gets more than the program: %s", command)
		}
	}
	if got := strings.Join(copies, "\n"); got != "COPY --from=build /out/controller /controller" {
		t.Errorf("the last stage copies with %q", got)
	}
	for _, architecture := range []string{"amd64", "arm64"} {
		t.Run(architecture, func(t *testing.T) {
			t.Parallel()
			want, err := os.ReadFile(filepath.Join(built(t), "linux", architecture, "controller"))
			if err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(filepath.Join(playStage(t, stages[0], architecture), "out", "controller"))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Error("the Dockerfile builds another program than make image")
			}
		})
	}
}

func stagesOf(t *testing.T) []instructions.Stage {
	t.Helper()
	file, err := os.Open(filepath.Join(root(t), "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	parsed, err := parser.Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	stages, _, err := instructions.Parse(parsed.AST, nil)
	if err != nil {
		t.Fatal(err)
	}
	return stages
}

func dockerignore(t *testing.T) *patternmatcher.PatternMatcher {
	t.Helper()
	file, err := os.Open(filepath.Join(root(t), ".dockerignore"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	patterns, err := ignorefile.ReadAll(file)
	if err != nil {
		t.Fatal(err)
	}
	matcher, err := patternmatcher.New(patterns)
	if err != nil {
		t.Fatal(err)
	}
	return matcher
}

// playStage runs a stage's commands in a folder that represents the root of the container, and returns that folder.
func playStage(t *testing.T, stage instructions.Stage, architecture string) string {
	t.Helper()
	container, folder := t.TempDir(), ""
	env := clean(t, "TARGETOS=linux", "TARGETARCH="+architecture)
	for name, value := range buildArgs {
		env = append(env, name+"="+value)
	}
	for _, command := range stage.Commands {
		switch command := command.(type) {
		case *instructions.WorkdirCommand:
			folder = filepath.Join(container, command.Path)
			if err := os.MkdirAll(folder, 0o755); err != nil {
				t.Fatal(err)
			}
		case *instructions.CopyCommand:
			for _, source := range command.SourcePaths {
				copyTree(t, root(t), folder, source, dockerignore(t))
			}
		case *instructions.RunCommand:
			line := strings.ReplaceAll(strings.Join(command.CmdLine, " "), " /out/", " "+container+"/out/")
			shell := exec.Command("sh", "-c", line)
			shell.Dir, shell.Env = folder, env
			if output, err := shell.CombinedOutput(); err != nil {
				t.Fatalf("RUN %s: %v\n%s", line, err, output)
			}
		case *instructions.ArgCommand: // the test sets the values itself
		default:
			t.Fatalf("this test does not support the command %s: add it", command)
		}
	}
	return container
}
