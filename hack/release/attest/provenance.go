package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	slsa "github.com/in-toto/attestation/go/predicates/provenance/v1"
	intoto "github.com/in-toto/attestation/go/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

const (
	source        = "https://github.com/mycompany/podmanager"
	predicateType = "https://slsa.dev/provenance/v1"
	// buildType means: make release VERSION=version IMG=image:version, in a clean clone of the commit.
	buildType = source + "/hack/release/v1"
	// builderID is a maintainer's machine. Its claim can be trusted because others can build the same bytes.
	builderID = source + "/hack/release/maintainer"
	// goURI is how the SBOMs identify the compiler and its standard library.
	goURI = "pkg:golang/stdlib@"
)

// build is what the provenance says about a release, besides its files.
type build struct {
	version, commit, image, digest, goVersion string
}

// statement states how these files and this image were built. Its bytes depend on nothing else.
func (b build) statement(sums map[string]string) ([]byte, error) {
	digest, ok := strings.CutPrefix(b.digest, "sha256:")
	if !ok {
		return nil, fmt.Errorf("the image's digest %q is not of the form sha256:HEX", b.digest)
	}
	parameters, err := structpb.NewStruct(map[string]any{"version": b.version, "image": b.image})
	if err != nil {
		return nil, err
	}
	provenance := &slsa.Provenance{
		BuildDefinition: &slsa.BuildDefinition{
			BuildType:          buildType,
			ExternalParameters: parameters,
			// The commit has the sources of all modules, in vendor, and the SBOMs list them. There is no base image.
			ResolvedDependencies: []*intoto.ResourceDescriptor{
				{Uri: "git+" + source + "@refs/tags/" + b.version, Digest: map[string]string{"gitCommit": b.commit}},
				{Uri: goURI + strings.TrimPrefix(b.goVersion, "go")},
			},
		},
		RunDetails: &slsa.RunDetails{Builder: &slsa.Builder{Id: builderID}},
	}
	if err := provenance.Validate(); err != nil {
		return nil, err
	}
	text, err := protojson.Marshal(provenance)
	if err != nil {
		return nil, err
	}
	predicate := &structpb.Struct{}
	if err := protojson.Unmarshal(text, predicate); err != nil {
		return nil, err
	}
	statement := &intoto.Statement{
		Type: intoto.StatementTypeUri, PredicateType: predicateType, Predicate: predicate,
		Subject: []*intoto.ResourceDescriptor{{Name: b.image, Digest: map[string]string{"sha256": digest}}},
	}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		statement.Subject = append(statement.Subject, &intoto.ResourceDescriptor{Name: name, Digest: map[string]string{"sha256": sums[name]}})
	}
	if err := statement.Validate(); err != nil {
		return nil, err
	}
	return plainJSON(statement)
}

// plainJSON returns a message without the spaces that protojson inserts to prevent its users from relying on the exact bytes.
func plainJSON(message proto.Message) ([]byte, error) {
	text, err := protojson.Marshal(message)
	if err != nil {
		return nil, err
	}
	var plain bytes.Buffer
	err = json.Compact(&plain, text)
	return plain.Bytes(), err
}

// checkStatement fails unless a statement is the provenance of these files. It returns what the statement says about their build. It generates a
// statement from that and from the checksums, and requires it to have the same bytes as the given one.
func checkStatement(text []byte, sums map[string]string) (build, error) {
	var told struct {
		Subject   []struct{ Digest map[string]string }
		Predicate struct {
			BuildDefinition struct {
				ExternalParameters   struct{ Version, Image string }
				ResolvedDependencies []struct {
					URI    string
					Digest map[string]string
				}
			}
		}
	}
	if err := json.Unmarshal(text, &told); err != nil {
		return build{}, err
	}
	definition := told.Predicate.BuildDefinition
	if len(told.Subject) == 0 || len(definition.ResolvedDependencies) != 2 {
		return build{}, errors.New("the file is not the provenance of a release")
	}
	about := build{
		version: definition.ExternalParameters.Version, image: definition.ExternalParameters.Image,
		commit:    definition.ResolvedDependencies[0].Digest["gitCommit"],
		goVersion: "go" + strings.TrimPrefix(definition.ResolvedDependencies[1].URI, goURI),
		digest:    "sha256:" + told.Subject[0].Digest["sha256"],
	}
	again, err := about.statement(sums)
	if err == nil && !bytes.Equal(again, text) {
		err = fmt.Errorf("the statement is not the provenance of the files in %s", sumsFile)
	}
	return about, err
}
