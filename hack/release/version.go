package main

import (
	"fmt"
	"regexp"
	"strings"

	utilversion "k8s.io/apimachinery/pkg/util/version"
)

// semantic matches a semver.org version with a v in front and without build metadata, because the tag of an image cannot contain a plus.
var semantic = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?$`)

// version is a version such as v0.2.0 or v0.2.0-rc.1.
type version string

func (v *version) String() string { return string(*v) }

func (v *version) Set(text string) error {
	if !semantic.MatchString(text) {
		return fmt.Errorf("%q is not a version: say VERSION=v0.2.0, or VERSION=v0.2.0-rc.1", text)
	}
	*v = version(text)
	return nil
}

// number returns the version in the form that charts and OLM use.
func (v version) number() string { return strings.TrimPrefix(string(v), "v") }

// follows reports whether the version is higher than another.
func (v version) follows(other string) (bool, error) {
	own, err := utilversion.ParseSemantic(string(v))
	if err != nil {
		return false, err
	}
	before, err := utilversion.ParseSemantic(other)
	if err != nil {
		return false, fmt.Errorf("the tag %s is not a version: %w", other, err)
	}
	return before.LessThan(own), nil
}

// image is the name and tag of an image and, once it is built, its digest.
type image struct{ name, tag, digest string }

func (i *image) String() string {
	if i.tag == "" {
		return i.name
	}
	return i.name + ":" + i.tag
}

// pinned returns the image with its digest. The tag is only for readers: a node pulls by the digest alone.
func (i *image) pinned() string { return i.String() + "@" + i.digest }

func (i *image) Set(text string) error {
	colon := strings.LastIndex(text, ":")
	if colon < 1 || strings.Contains(text[colon:], "/") || colon == len(text)-1 || strings.ContainsAny(text, " @\t\n") {
		return fmt.Errorf("%q is not NAME:TAG, such as registry.example.com/podmanager:v0.2.0", text)
	}
	i.name, i.tag = text[:colon], text[colon+1:]
	return nil
}
