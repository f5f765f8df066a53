package main

import (
	"errors"
	"flag"
	"fmt"
	"os/exec"
	"strings"
)

func checkCommand(args []string) error {
	flags := flag.NewFlagSet("release check", flag.ContinueOnError)
	var stamps stamps
	flags.Var(&stamps.version, "version", "the version, such as v0.2.0")
	flags.Var(&stamps.image, "ref", "name and tag of the controller's image")
	if err := parse(flags, args); err != nil {
		return err
	}
	return check(repository("."), stamps)
}

// check fails unless the checked-out commit can become this version.
func check(tree repository, stamps stamps) error {
	if stamps.image.tag != string(stamps.version) {
		return fmt.Errorf("the image %s must have the tag %s: the chart takes the tag from its version", &stamps.image, stamps.version)
	}
	changed, err := tree.git("status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" {
		return fmt.Errorf("a release is built from a commit, and these files are not committed; commit them, or put them away with git stash -u:\n%s", changed)
	}
	shallow, err := tree.git("rev-parse", "--is-shallow-repository")
	if err != nil {
		return err
	}
	if shallow == "true" {
		return errors.New("the clone is shallow, but the release notes need the whole log: git fetch --unshallow --tags")
	}
	return checkTags(tree, stamps.version)
}

// checkTags checks that a version always means one commit, and is higher than the previous ones.
func checkTags(tree repository, version version) error {
	head, err := tree.git("rev-parse", "HEAD")
	if err != nil {
		return err
	}
	if tagged, err := tree.git("rev-parse", "--verify", "--quiet", "refs/tags/"+string(version)+"^{commit}"); err == nil && tagged != head {
		return fmt.Errorf("%s is the tag of another commit, %s: take the next version", version, tagged)
	}
	previous, err := tree.previousTag(version)
	if err != nil || previous == "" {
		return err
	}
	higher, err := version.follows(previous)
	if err == nil && !higher {
		err = fmt.Errorf("%s is not higher than %s, the tag before it", version, previous)
	}
	return err
}

// repository is the folder of a working tree.
type repository string

// git runs a git command, and returns its output.
func (r repository) git(args ...string) (string, error) {
	command := exec.Command("git", append([]string{"-C", string(r)}, args...)...)
	var complaint strings.Builder
	command.Stderr = &complaint
	output, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(complaint.String()))
	}
	return strings.TrimRight(string(output), "\n"), nil
}

// previousTag returns the newest version tag in this commit's history, except the version's own tag, or empty if there is none.
func (r repository) previousTag(version version) (string, error) {
	tags, err := r.git("tag", "--merged", "HEAD", "--list", "v[0-9]*")
	if err != nil || strings.TrimSpace(strings.ReplaceAll(tags, string(version), "")) == "" {
		return "", err
	}
	return r.git("describe", "--tags", "--abbrev=0", "--match", "v[0-9]*", "--exclude", string(version), "HEAD")
}
