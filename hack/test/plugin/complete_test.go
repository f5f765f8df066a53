//go:build e2e

package plugin

import (
	"os/exec"
	"strings"
	"testing"
)

// kubectl itself completes names, revisions and containers, under both names of the plugin.
func TestCompletion(t *testing.T) {
	s := newSpace(t)
	s.apply("web", "{replicas: 1, image: 'app:1', "+hasty+"}")
	s.apply("api", "{replicas: 1, image: 'app:1', "+hasty+"}")
	s.Apply(strings.Replace(workloads["Deployment"], "name: web", "name: front", 1))
	s.pm("status", "web", "--timeout", "1m")
	for _, plugin := range []string{"podmanager", "pm"} {
		for line, want := range map[string]string{
			"get |":                    "api web",
			"get w|":                   "web",
			"restart web |":            "api",
			"diff web |":               "1",
			"undo web --to-revision |": "1",
			"set image web |":          "app=",
			"hist|":                    "history",
			"simul|":                   "simulate",
			"simulate w|":              "web",
			"simulate web --fail |":    "every",
			"status web |":             "",
			"completion |":             "kubectl",
			"get --until-|":            "--until-ready",
			"migr|":                    "migrate",
			"migrate |":                "",
			"convert |":                "deployment/front",
			"convert --a|":             "--adopt",
		} {
			before, typed, _ := strings.Cut(line, "|")
			words := strings.Fields(before)
			if !strings.HasSuffix(before, " ") {
				typed, words = words[len(words)-1], words[:len(words)-1]
			}
			command := s.command()
			arguments := append([]string{"kubectl", "__complete", plugin, "--namespace", s.Name, "--kubeconfig", s.kubeconfig}, append(words, typed)...)
			command.Args = arguments
			out, err := output(command)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			var got []string
			for _, candidate := range strings.Split(out, "\n") {
				if name, _, _ := strings.Cut(candidate, "\t"); name != "" && !strings.HasPrefix(name, ":") {
					got = append(got, name)
				}
			}
			if strings.Join(got, " ") != want {
				t.Errorf("kubectl %s %s: got %v, want %s", plugin, line, got, want)
			}
		}
	}
}

func output(command *exec.Cmd) (string, error) {
	command.Stdin = strings.NewReader("")
	out, err := command.Output()
	return string(out), err
}
