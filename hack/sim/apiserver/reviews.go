package apiserver

import (
	"net/http"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// review answers reviews of a client's identity and permissions.
func (s *Server) review(r *Request) *answer {
	switch r.Path {
	case "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews":
		review := &authorizationv1.SelfSubjectAccessReview{}
		return reviewed(r, review, func() { review.Status.Allowed = s.mayAccess(r.Client, review.Spec.ResourceAttributes) })
	case "/apis/authentication.k8s.io/v1/selfsubjectreviews":
		review := &authenticationv1.SelfSubjectReview{}
		return reviewed(r, review, func() { review.Status.UserInfo.Username = r.Client })
	}
	return notFound()
}

func reviewed(r *Request, review runtime.Object, decide func()) *answer {
	if err := decodeInto(r.Body, review); err != nil {
		return failure(err)
	}
	decide()
	a := object200(review)
	a.code = http.StatusCreated
	return a
}

// mayAccess reports whether a client may do what a review asks about. Non-resource paths are allowed for every client.
func (s *Server) mayAccess(client string, asked *authorizationv1.ResourceAttributes) bool {
	if asked == nil {
		return true
	}
	i := slices.IndexFunc(s.resources, func(r *Resource) bool { return r.Group == asked.Group && r.Name == asked.Resource })
	if i < 0 {
		return true
	}
	return s.authorize(&Request{
		Client: client, Verb: asked.Verb, Resource: s.resources[i], Subresource: asked.Subresource, Namespace: asked.Namespace, Name: asked.Name,
		Path: metav1.NamespaceNone,
	})
}
