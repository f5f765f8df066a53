package apiserver

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
)

// serverVersion is the version of Kubernetes that the server behaves like.
var serverVersion = version.Info{Major: "1", Minor: "36", GitVersion: "v1.36.3", Platform: "linux/amd64"}

// serveOther serves paths that are not objects: the version, the resources of a group's version, and reviews.
func (s *Server) serveOther(r *Request) *answer {
	parts := strings.Split(strings.Trim(r.Path, "/"), "/")
	switch first := parts[0]; {
	case r.Verb == "post":
		return s.review(r)
	case r.Verb != "get":
		return notFound()
	case first == "version":
		return object200(serverVersion)
	case first == "api" && len(parts) == 2:
		return s.resourceList("", parts[1])
	case first == "apis" && len(parts) == 3:
		return s.resourceList(parts[1], parts[2])
	}
	return notFound()
}

func (s *Server) resourceList(group, version string) *answer {
	list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}}
	for _, r := range s.resources {
		if r.Group != group || r.Version != version {
			continue
		}
		list.GroupVersion = r.GroupVersion().String()
		own := metav1.APIResource{Name: r.Name, SingularName: strings.ToLower(r.Kind), Namespaced: !r.has(clusterWide), Kind: r.Kind,
			Verbs: metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}}
		list.APIResources = append(list.APIResources, own)
		for _, name := range r.subresources() {
			own.Name, own.SingularName, own.Verbs = r.Name+"/"+name, "", metav1.Verbs{"create", "get", "patch", "update"}
			list.APIResources = append(list.APIResources, own)
		}
	}
	if list.GroupVersion == "" {
		return notFound()
	}
	return object200(list)
}
