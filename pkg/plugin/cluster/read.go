package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plugin/rights"
	"github.com/mycompany/podmanager/pkg/plugin/snapshot"
)

// The kinds that a user may lack permission to read.
const (
	kindPods      = "pods"
	kindRevisions = "controllerrevisions"
)

// ReadManagers reads the PodManagers of a selection, with one list or with a get for each name. It returns the ones it has found, and an error
// about the others.
func (c *Cluster) ReadManagers(ctx context.Context, s Selection) ([]*v1.PodManager, error) {
	client := c.Managers.AppsV1().PodManagers(s.Namespace)
	var managers []*v1.PodManager
	var failed []error
	for _, name := range s.Names {
		manager, err := client.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			failed = append(failed, c.Advise(err, s.Namespace))
			continue
		}
		managers = append(managers, manager)
	}
	if len(s.Names) > 0 {
		return managers, errors.Join(failed...)
	}
	list, err := client.List(ctx, metav1.ListOptions{LabelSelector: s.Selector})
	if err != nil {
		return nil, c.Advise(err, s.Namespace)
	}
	for i := range list.Items {
		managers = append(managers, &list.Items[i])
	}
	return managers, nil
}

// Read reads the PodManagers of a selection with their pods and revisions, as far as the user may read them. It returns the ones it has found, and an
// error about the others.
func (c *Cluster) Read(ctx context.Context, s Selection) ([]snapshot.Snapshot, error) {
	managers, notRead := c.ReadManagers(ctx, s)
	if len(managers) == 0 {
		return nil, notRead
	}
	owned, err := c.readOwned(ctx, s)
	if err != nil {
		return nil, err
	}
	var all []snapshot.Snapshot
	now := time.Now()
	for _, manager := range managers {
		all = append(all, owned.of(manager, now))
	}
	return all, notRead
}

// ReadIfAny reads a PodManager with its pods and revisions. If it does not exist, Manager is nil, and the orphans are the pods that a new
// PodManager of this name would adopt.
func (c *Cluster) ReadIfAny(ctx context.Context, namespace, name string) (snapshot.Snapshot, error) {
	manager, err := c.Managers.AppsV1().PodManagers(namespace).Get(ctx, name, metav1.GetOptions{})
	isNew := apierrors.IsNotFound(err) && !isNotServed(err)
	if err != nil && !isNew {
		return snapshot.Snapshot{}, c.Advise(err, namespace)
	}
	owned, err := c.readOwned(ctx, Selection{Namespace: namespace, Names: []string{name}})
	if err != nil {
		return snapshot.Snapshot{}, err
	}
	if !isNew {
		return owned.of(manager, time.Now()), nil
	}
	placeholder := &v1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	s := owned.of(placeholder, time.Now())
	s.Manager, s.Pods, s.Stored = nil, nil, nil
	return s, nil
}

// owned is what PodManagers own, and what they may adopt, as far as the user may read it.
type owned struct {
	pods      []*corev1.Pod
	revisions []*appsv1.ControllerRevision
	// missing lists the kinds that the user may not read. user is the user's name, as the refusal says it.
	missing []string
	user    string
}

// of returns the snapshot of one PodManager.
func (o owned) of(manager *v1.PodManager, now time.Time) snapshot.Snapshot {
	s := snapshot.New(manager, o.pods, o.revisions, o.missing, now)
	s.User = o.user
	return s
}

// readOwned reads pods and revisions in parallel.
func (c *Cluster) readOwned(ctx context.Context, s Selection) (o owned, err error) {
	var podsErr, revisionsErr error
	var wait sync.WaitGroup
	options := metav1.ListOptions{LabelSelector: ownedBy(s)}
	wait.Go(func() {
		list, err := c.Kube.CoreV1().Pods(s.Namespace).List(ctx, options)
		if podsErr = err; err == nil {
			for i := range list.Items {
				o.pods = append(o.pods, &list.Items[i])
			}
		}
	})
	wait.Go(func() {
		list, err := c.Kube.AppsV1().ControllerRevisions(s.Namespace).List(ctx, options)
		if revisionsErr = err; err == nil {
			for i := range list.Items {
				o.revisions = append(o.revisions, &list.Items[i])
			}
		}
	})
	wait.Wait()
	for _, read := range []struct {
		kind string
		err  error
	}{{kindPods, podsErr}, {kindRevisions, revisionsErr}} {
		switch {
		case apierrors.IsForbidden(read.err):
			o.missing, o.user = append(o.missing, read.kind), rights.User(read.err.Error())
		case read.err != nil:
			return owned{}, c.Advise(read.err, s.Namespace)
		}
	}
	return o, nil
}

// ownedBy returns the selector for the pods and revisions of a selection.
func ownedBy(s Selection) string {
	switch len(s.Names) {
	case 0:
		return v1.LabelManager
	case 1:
		return v1.LabelManager + "=" + s.Names[0]
	default:
		selector := v1.LabelManager + " in ("
		for i, name := range s.Names {
			if i > 0 {
				selector += ","
			}
			selector += name
		}
		return selector + ")"
	}
}

// Selection is the set of PodManagers that a user means.
type Selection struct {
	Namespace string
	// Names are the names that the user gave. If there are none, all PodManagers that Selector matches are selected.
	Names    []string
	Selector string
}

// kinds are the accepted spellings of the kind.
var kinds = []string{
	"pm", "podmanager", "podmanagers",
	"podmanager." + v1.GroupName, "podmanagers." + v1.GroupName, "podmanagers.v1." + v1.GroupName,
}

// Name returns the name in an argument: web, pm/web or podmanager.apps.mycompany.com/web.
func Name(argument string) (string, error) {
	kind, name, hasKind := strings.Cut(argument, "/")
	switch {
	case argument == "":
		return "", errors.New("the name of a PodManager must not be empty")
	case !hasKind:
		return argument, nil
	case name == "" || strings.Contains(name, "/"):
		return "", fmt.Errorf("%q is not the name of a PodManager; write NAME or pm/NAME", argument)
	case !slices.Contains(kinds, strings.ToLower(kind)):
		return "", fmt.Errorf("%s is not a PodManager; for other kinds, use kubectl", argument)
	default:
		return name, nil
	}
}

// ParseNames parses names. Like kubectl, it also accepts the kind as the first argument: pm web api.
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

// FullName returns the name that -o name prints.
func FullName(name string) string { return "podmanager." + v1.GroupName + "/" + name }
