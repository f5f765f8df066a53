package tree

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mycompany/podmanager/pkg/plugin/follow"
	"github.com/mycompany/podmanager/pkg/plugin/snapshot"
	"github.com/mycompany/podmanager/pkg/plugin/text"
)

// Log turns snapshots into lines for a pipe: one for each change of a PodManager or a pod.
type Log struct {
	// said is the last line printed for each object.
	said map[string]string
}

// Lines returns the lines that are new since the last call.
func (l *Log) Lines(all []snapshot.Snapshot, withNamespace bool) []string {
	if l.said == nil {
		l.said = map[string]string{}
	}
	var lines []string
	seen := map[string]bool{}
	say := func(key, line string) {
		line = text.Clean(line)
		seen[key] = true
		if l.said[key] != line {
			l.said[key] = line
			lines = append(lines, line)
		}
	}
	for _, s := range all {
		prefix := ""
		if withNamespace {
			prefix = s.Manager.Namespace + "/"
		}
		own := prefix + s.Manager.Name
		say(own, prefix+follow.Line(s.Manager))
		state := s.Rollout()
		for _, pod := range s.Pods {
			is := s.StateOf(pod, state)
			line := fmt.Sprintf("%spod %s: %s", prefix, pod.Name, is.Word)
			if is.Detail != "" && is.Word != snapshot.Terminating && is.Word != snapshot.Ready { // these two contain a time, which always changes
				line += ": " + is.Detail
			}
			say(own+"/"+string(pod.UID), line)
		}
	}
	return append(lines, l.gone(seen)...)
}

// gone returns a line for each object that no longer exists.
func (l *Log) gone(seen map[string]bool) []string {
	var lines []string
	for key, last := range l.said {
		if !seen[key] {
			name, _, _ := strings.Cut(last, ": ")
			lines = append(lines, name+": gone")
			delete(l.said, key)
		}
	}
	slices.Sort(lines)
	return lines
}
