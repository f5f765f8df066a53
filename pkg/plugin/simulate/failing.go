package simulate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/world/nodes"
)

// Choice selects the pods that fail once they have the new revision.
type Choice struct {
	flag  string
	names []string
	// everies holds numbers n, for each of which every n-th pod fails.
	everies []int
	// met holds the named pods that got the new revision.
	met map[string]bool
}

// ParseChoice parses pod names, "every", and "every 3" for each third pod.
func ParseChoice(flag string, values []string) (Choice, error) {
	c := Choice{flag: flag, met: map[string]bool{}}
	for _, value := range values {
		words := strings.Fields(strings.ReplaceAll(value, "=", " "))
		switch {
		case len(words) == 1 && words[0] == "every":
			c.everies = append(c.everies, 1)
		case len(words) == 2 && words[0] == "every":
			n, err := strconv.Atoi(words[1])
			if err != nil || n < 1 {
				return c, fmt.Errorf("%s is %q; %s", flag, value, possible)
			}
			c.everies = append(c.everies, n)
		case len(words) == 1:
			c.names = append(c.names, strings.TrimPrefix(words[0], "pod/"))
		default:
			return c, fmt.Errorf("%s is %q; %s", flag, value, possible)
		}
	}
	return c, nil
}

// possible is how error messages describe the valid choices.
const possible = `write every, "every 3" for each third pod, or the name of a pod`

// check returns an error if a name belongs neither to an existing pod nor to a pod that the controller may create.
func (c Choice) check(manager string, pods []*corev1.Pod) error {
	for _, name := range c.names {
		exists := slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return pod.Name == name })
		if !exists && podstate.IndexOf(manager, name) < 0 {
			return fmt.Errorf("%s is %q; %s, such as %s", c.flag, name, possible, podstate.PodName(manager, 0))
		}
	}
	return nil
}

// includes reports whether a pod fails. number counts the pods that get the new revision.
func (c Choice) includes(name string, number int) bool {
	if slices.Contains(c.names, name) {
		c.met[name] = true
		return true
	}
	return slices.ContainsFunc(c.everies, func(n int) bool { return number%n == 0 })
}

// unmet returns the named pods that never got the new revision.
func (c Choice) unmet() []string {
	return slices.DeleteFunc(slices.Clone(c.names), func(name string) bool { return c.met[name] })
}

// words describes the pods that fail.
func (c Choice) words() []string {
	words := slices.Clone(c.names)
	for _, n := range c.everies {
		switch n {
		case 1:
			words = append(words, "every new pod")
		default:
			words = append(words, "every "+ordinal(n)+" new pod")
		}
	}
	return words
}

func ordinal(n int) string {
	suffix := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return strconv.Itoa(n) + suffix
}

// fate returns how the containers of a pod behave once the pod gets the new revision.
func (o Options) fate(pod *corev1.Pod, number int) nodes.Quality {
	switch {
	case o.Fail.includes(pod.Name, number):
		return nodes.Crashing
	case o.NeverReady.includes(pod.Name, number):
		return nodes.NeverReady
	default:
		return nodes.Good
	}
}
