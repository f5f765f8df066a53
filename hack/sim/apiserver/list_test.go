package apiserver_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestList(t *testing.T) {
	const exact = metav1.ResourceVersionMatchExact
	tests := map[string]struct {
		options metav1.ListOptions
		// want is the names and, after a slash, the version of the list.
		want    string
		code    int
		message string
	}{
		"all":                    {metav1.ListOptions{}, "b old/8", 0, ""},
		"of any version":         {metav1.ListOptions{ResourceVersion: "0"}, "b old/8", 0, ""},
		"not older":              {metav1.ListOptions{ResourceVersion: "4"}, "b old/8", 0, ""},
		"exactly":                {metav1.ListOptions{ResourceVersion: "4", ResourceVersionMatch: exact}, "a b old/4", 0, ""},
		"exactly, when labelled": {metav1.ListOptions{ResourceVersion: "5", ResourceVersionMatch: exact, LabelSelector: "app=web"}, "a b/5", 0, ""},
		"a page is exact":        {metav1.ListOptions{ResourceVersion: "4", Limit: 2}, "a b/4 and 1 more", 0, ""},
		"a page of now":          {metav1.ListOptions{Limit: 1}, "b/8 and 1 more", 0, ""},
		"a page that is enough":  {metav1.ListOptions{Limit: 2}, "b old/8", 0, ""},
		"a field":                {metav1.ListOptions{FieldSelector: "metadata.name=old,status.phase=Pending"}, "old/8", 0, ""},
		"none":                   {metav1.ListOptions{LabelSelector: "app in (web)"}, "/8", 0, ""},
		"the future":             {metav1.ListOptions{ResourceVersion: "99"}, "", 504, "Too large resource version: 99, current: 8"},
		"a broken token":         {metav1.ListOptions{Continue: "x"}, "", 400, "continue key is not valid"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			simulate(t, nil, func(t *testing.T, s sim) {
				ctx := t.Context()
				must(s.pods().Create(ctx, newPod("old"), create))
				history(ctx, t, s)
				found, err := s.pods().List(ctx, test.options)
				checkError(t, err, test.code, test.message)
				if err != nil {
					return
				}
				var names []string
				for _, pod := range found.Items {
					names = append(names, pod.Name)
				}
				got := fmt.Sprintf("%s/%s", strings.Join(names, " "), found.ResourceVersion)
				if found.RemainingItemCount != nil {
					got += fmt.Sprintf(" and %d more", *found.RemainingItemCount)
				}
				if got != test.want || (found.Continue != "") != (found.RemainingItemCount != nil) {
					t.Errorf("found %s, want %s; the token is %q", got, test.want, found.Continue)
				}
			})
		})
	}
}

// All pages of a list are of one version. Once that version is compacted, the client may continue with the present state.
func TestPages(t *testing.T) {
	simulate(t, nil, func(t *testing.T, s sim) {
		ctx := t.Context()
		for _, name := range []string{"a", "c", "d"} {
			must(s.pods().Create(ctx, newPod(name), create))
		}
		first := must(s.pods().List(ctx, metav1.ListOptions{Limit: 1}))
		must(s.pods().Create(ctx, newPod("b"), create))
		next := metav1.ListOptions{Limit: 1, Continue: first.Continue}
		second := must(s.pods().List(ctx, next))
		if len(second.Items) != 1 || second.Items[0].Name != "c" || second.ResourceVersion != first.ResourceVersion {
			t.Errorf("the second page is %+v", second)
		}
		s.Compact(s.Version())
		_, err := s.pods().List(ctx, next)
		checkError(t, err, 410, "The provided continue parameter is too old to display a consistent list result")
		next.Continue = statusOf(err).Continue
		rest := must(s.pods().List(ctx, next))
		if len(rest.Items) != 1 || rest.Items[0].Name != "b" || rest.ResourceVersion != "5" {
			t.Errorf("the rest is %+v", rest)
		}
		_, err = s.pods().List(ctx, metav1.ListOptions{ResourceVersion: "3", ResourceVersionMatch: metav1.ResourceVersionMatchExact})
		checkError(t, err, 410, "The resourceVersion for the provided list is too old")
	})
}

// A list at a version that has not been written yet waits for that version.
func TestListWaits(t *testing.T) {
	simulate(t, nil, func(t *testing.T, s sim) {
		ctx := t.Context()
		time.AfterFunc(2*time.Second, func() { must(s.pods().Create(ctx, newPod("a"), create)) })
		found := must(s.pods().List(ctx, metav1.ListOptions{ResourceVersion: "2"}))
		if len(found.Items) != 1 {
			t.Errorf("found %+v", found)
		}
	})
}
