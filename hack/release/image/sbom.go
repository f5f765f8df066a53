package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"
)

// The parts of SPDX 2.3 that apply to a Go program. What the linker has recorded in the program describes its contents completely.
type spdxDocument struct {
	Version       string             `json:"spdxVersion"`
	DataLicense   string             `json:"dataLicense"`
	ID            string             `json:"SPDXID"`
	Name          string             `json:"name"`
	Namespace     string             `json:"documentNamespace"`
	Creation      spdxCreation       `json:"creationInfo"`
	Packages      []spdxPackage      `json:"packages"`
	Relationships []spdxRelationship `json:"relationships"`
}

type spdxCreation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type spdxPackage struct {
	ID               string         `json:"SPDXID"`
	Name             string         `json:"name"`
	Version          string         `json:"versionInfo"`
	FileName         string         `json:"packageFileName,omitempty"`
	DownloadLocation string         `json:"downloadLocation"`
	FilesAnalyzed    bool           `json:"filesAnalyzed"`
	Checksums        []spdxChecksum `json:"checksums,omitempty"`
	LicenseDeclared  string         `json:"licenseDeclared"`
	Purpose          string         `json:"primaryPackagePurpose"`
	Comment          string         `json:"comment,omitempty"`
	ExternalRefs     []spdxRef      `json:"externalRefs"`
}

type spdxChecksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

type spdxRef struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type spdxRelationship struct {
	Element string `json:"spdxElementId"`
	Type    string `json:"relationshipType"`
	Related string `json:"relatedSpdxElement"`
}

// sbom lists the modules in a Go program, as recorded by its linker. A program in another language has no such record.
func sbom(program, version, license string, created time.Time) ([]byte, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return nil, fmt.Errorf("the SBOM comes from what the Go linker records, and %s has none: %w", program, err)
	}
	data, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	digest := hex.EncodeToString(sum[:])

	main := module("SPDXRef-Program", info.Main.Path, version)
	main.FileName = "/" + filepath.Base(program)
	main.Checksums = []spdxChecksum{{"SHA256", digest}}
	main.LicenseDeclared = license
	main.Purpose = "APPLICATION"
	main.Comment = "Package " + info.Path + ", built by " + info.GoVersion + settings(info)
	document := spdxDocument{
		Version: "SPDX-2.3", DataLicense: "CC0-1.0", ID: "SPDXRef-DOCUMENT",
		Name: info.Path + "@" + version,
		// The namespace must be unique to the document, but need not resolve.
		Namespace:     "https://" + info.Main.Path + "/sbom/sha256-" + digest,
		Creation:      spdxCreation{Created: created.UTC().Format(time.RFC3339), Creators: []string{"Tool: " + info.Main.Path + "/hack/release/image"}},
		Packages:      []spdxPackage{main},
		Relationships: []spdxRelationship{{"SPDXRef-DOCUMENT", "DESCRIBES", main.ID}},
	}
	for _, part := range parts(info) {
		document.Packages = append(document.Packages, part)
		document.Relationships = append(document.Relationships, spdxRelationship{main.ID, "DEPENDS_ON", part.ID})
	}
	text, err := json.MarshalIndent(document, "", "  ")
	return append(text, '\n'), err
}

// parts returns the standard library and the modules, in the linker's order, which is by path.
func parts(info *debug.BuildInfo) []spdxPackage {
	// A toolchain may append more after a space, such as its experiments.
	release, _, _ := strings.Cut(strings.TrimPrefix(info.GoVersion, "go"), " ")
	packages := []spdxPackage{module("SPDXRef-Module-0", "stdlib", release)}
	for i, dependency := range info.Deps {
		if dependency.Replace != nil {
			dependency = dependency.Replace
		}
		packages = append(packages, module(fmt.Sprintf("SPDXRef-Module-%d", i+1), dependency.Path, dependency.Version))
	}
	return packages
}

func module(id, path, version string) spdxPackage {
	return spdxPackage{
		ID: id, Name: path, Version: version, DownloadLocation: "NOASSERTION", LicenseDeclared: "NOASSERTION", Purpose: "LIBRARY",
		// Scanners use this name to look up modules in vulnerability databases.
		ExternalRefs: []spdxRef{{"PACKAGE-MANAGER", "purl", "pkg:golang/" + path + "@" + version}},
	}
}

func settings(info *debug.BuildInfo) string {
	var text strings.Builder
	for _, setting := range info.Settings {
		text.WriteString(" " + setting.Key + "=" + setting.Value)
	}
	return text.String()
}
