package change

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// everyContainer, instead of a container's name, means all containers, as in kubectl set image.
const everyContainer = "*"

// ParseImages parses CONTAINER=IMAGE arguments.
func ParseImages(arguments []string) (map[string]string, error) {
	images := map[string]string{}
	for _, argument := range arguments {
		container, image, found := strings.Cut(argument, "=")
		if !found || container == "" || image == "" {
			return nil, fmt.Errorf("%q is not CONTAINER=IMAGE, such as app=nginx:1.30", argument)
		}
		images[container] = image
	}
	return images, nil
}

// SetImage changes the images of containers and init containers. cause is the change cause of the new revision. If it is empty, the change cause
// of the old revision is removed, because it would be wrong for the new one.
func SetImage(images map[string]string, cause string) func(*v1.PodManager, time.Time) (Change, error) {
	return func(manager *v1.PodManager, _ time.Time) (Change, error) {
		var c Change
		var said []string
		found := map[string]bool{}
		visit := func(name, before string, path ...string) {
			image, wanted := images[name]
			if !wanted {
				if image, wanted = images[everyContainer]; !wanted {
					return
				}
				name = everyContainer
			}
			if found[name] = true; image != before {
				c.set(image, path...)
				said = append(said, fmt.Sprintf("%s, was %s", image, before))
			}
		}
		if template := manager.Spec.Template; template == nil {
			visit(v1.ShorthandContainer, manager.Spec.Image, "spec", "image")
		} else {
			visitAll(template.Spec.InitContainers, "initContainers", visit)
			visitAll(template.Spec.Containers, "containers", visit)
		}
		for _, name := range slices.Sorted(maps.Keys(images)) {
			if !found[name] {
				return Change{}, fmt.Errorf("%s has no container %s; it has %s", manager.Name, name, strings.Join(ContainersOf(manager), ", "))
			}
		}
		if c.IsEmpty() {
			return sameImages(manager, len(images), cause)
		}
		c.setCause(manager, cause)
		c.Said = "image updated: " + strings.Join(said, "; ") + waits(manager, "outdated pods are updated")
		return c, nil
	}
}

// sameImages returns the change if the containers have the images already: only a new change cause, which the controller copies to the revision.
func sameImages(manager *v1.PodManager, count int, cause string) (Change, error) {
	c := Change{Said: "has that image already"}
	if count > 1 {
		c.Said = "has those images already"
	}
	if cause != "" {
		c.setCause(manager, cause)
	}
	if !c.IsEmpty() {
		c.Said += "; its change cause is updated: " + cause
	}
	return c, nil
}

func visitAll(containers []corev1.Container, field string, visit func(name, before string, path ...string)) {
	for i := range containers {
		visit(containers[i].Name, containers[i].Image, "spec", "template", "spec", field, strconv.Itoa(i), "image")
	}
}

// ContainersOf returns the names of a PodManager's containers.
func ContainersOf(manager *v1.PodManager) []string {
	if manager.Spec.Template == nil {
		return []string{v1.ShorthandContainer}
	}
	var names []string
	for _, containers := range [][]corev1.Container{manager.Spec.Template.Spec.InitContainers, manager.Spec.Template.Spec.Containers} {
		for i := range containers {
			names = append(names, containers[i].Name)
		}
	}
	return names
}
