package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

const license = "Apache-2.0"

// stamps are the controller's version, its commit, and the commit's time.
type stamps struct {
	version, revision string
	created           time.Time
}

// controllerContents must match the Dockerfile. A test compares them.
func controllerContents(stamps stamps) contents {
	return contents{
		Created: stamps.created,
		Ports:   []string{"8080/tcp", "8081/tcp"}, // metrics and health probes
		Labels: map[string]string{
			"org.opencontainers.image.title":       "podmanager",
			"org.opencontainers.image.description": "Kubernetes controller for PodManager objects",
			"org.opencontainers.image.source":      "https://github.com/mycompany/podmanager",
			"org.opencontainers.image.licenses":    license,
			"org.opencontainers.image.version":     stamps.version,
			"org.opencontainers.image.revision":    stamps.revision,
			"org.opencontainers.image.created":     stamps.created.UTC().Format(time.RFC3339),
		},
	}
}

// build creates the controller's image: an index of all platforms with their SBOMs in a layout, and next to it a tar and an SBOM for each platform.
func build(args []string) error {
	flags := flag.NewFlagSet("image build", flag.ContinueOnError)
	created := moment{epoch}
	ref := flags.String("ref", "", "the image's name and tag")
	out := flags.String("out", "", "the folder to write; an older image there is replaced")
	version := flags.String("version", "", "the controller's version")
	revision := flags.String("revision", "", "the commit")
	flags.Var(&created, "created", "the commit's time, for example 2026-01-31T12:00:00Z")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *ref == "" || *out == "" || *version == "" || *revision == "" || flags.NArg() == 0 {
		flags.Usage()
		return errors.New("build needs -ref, -out, -version, -revision, and the program of each platform as an argument")
	}
	name, err := parseReference(*ref)
	if err != nil {
		return err
	}
	digest, err := buildInto(*out, name, stamps{*version, *revision, created.UTC()}, flags.Args())
	if err != nil {
		return err
	}
	fmt.Printf("%s@%s\n", name.full, digest)
	return nil
}

func buildInto(folder string, ref reference, stamps stamps, programs []string) (v1.Hash, error) {
	var images, attached []mutate.IndexAddendum
	layout := filepath.Join(folder, "layout")
	if err := os.RemoveAll(layout); err != nil {
		return v1.Hash{}, err
	}
	for _, program := range programs {
		image, err := programImage(program, controllerContents(stamps))
		if err != nil {
			return v1.Hash{}, err
		}
		document, err := sbom(program, stamps.version, license, stamps.created)
		if err != nil {
			return v1.Hash{}, err
		}
		if err := writeBeside(folder, ref, image, document); err != nil {
			return v1.Hash{}, err
		}
		artifact, err := attach(document, spdxType, image)
		if err != nil {
			return v1.Hash{}, err
		}
		line, err := entry(image)
		if err != nil {
			return v1.Hash{}, err
		}
		images, attached = append(images, line), append(attached, attachedEntry(artifact))
	}
	// Images come first, because some clients use the first entry that matches.
	all := index(append(images, attached...)...)
	if err := writeLayout(layout, ref, mutate.IndexAddendum{Add: all}); err != nil {
		return v1.Hash{}, err
	}
	return all.Digest()
}

// writeBeside writes the files of one platform, with its name: podmanager_linux_amd64.tar and .spdx.json.
func writeBeside(folder string, ref reference, image v1.Image, document []byte) error {
	config, err := image.ConfigFile()
	if err != nil {
		return err
	}
	stem := filepath.Join(folder, "podmanager_"+config.OS+"_"+config.Architecture)
	if err := os.WriteFile(stem+".spdx.json", document, 0o644); err != nil {
		return err
	}
	return writeArchive(stem+".tar", ref, image)
}
