package cluster

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// Selection is which PodManagers a user means.
type Selection struct {
	Namespace string
	// Names are those that were named; none for all that Selector selects.
	Names    []string
	Selector string
}

// kinds are the ways to name the kind of a PodManager.
var kinds = []string{
	"pm", "podmanager", "podmanagers",
	"podmanager." + v1.GroupName, "podmanagers." + v1.GroupName, "podmanagers.v1." + v1.GroupName,
}

// Name is the name in an argument: web, pm/web or podmanager.apps.mycompany.com/web.
func Name(argument string) (string, error) {
	kind, name, hasKind := strings.Cut(argument, "/")
	switch {
	case argument == "":
		return "", errors.New("the name of a PodManager must not be empty")
	case !hasKind:
		return argument, nil
	case name == "" || strings.Contains(name, "/"):
		return "", fmt.Errorf("%q is no name of a PodManager; write NAME or pm/NAME", argument)
	case !slices.Contains(kinds, strings.ToLower(kind)):
		return "", fmt.Errorf("%s is no PodManager; for other kinds there is kubectl rollout", argument)
	default:
		return name, nil
	}
}

// ParseNames reads names. Like kubectl, it takes the kind as the first argument, too: pm web api.
func ParseNames(arguments []string) ([]string, error) {
	if len(arguments) > 1 && slices.Contains(kinds, strings.ToLower(arguments[0])) {
		arguments = arguments[1:]
	}
	names := make([]string, 0, len(arguments))
	for _, argument := range arguments {
		name, err := Name(argument)
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

// FullName is what -o name prints.
func FullName(name string) string { return "podmanager." + v1.GroupName + "/" + name }
