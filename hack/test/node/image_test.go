//go:build e2e

package node

import (
	"fmt"
	"testing"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// inPlace are the limits of most tests: one pod at a time, and no pod is replaced.
const inPlace = "podUpdatePolicy: InPlaceOnly, maxSurge: 0, maxUnavailable: 1"

// probe makes a pod ready when the web server says so. On a slow machine the server may answer late, which must not make it unready.
const probe = "readinessProbe: {httpGet: {path: /readyz, port: %d}, periodSeconds: 1, timeoutSeconds: 30}"

// spec returns the spec of a PodManager of the web server. A revision becomes current as soon as its pods are available, unless more has a failure
// policy. Few tests are about the default of half a minute.
func spec(replicas int, limits, more, containers string) string {
	if more == "" {
		more = "failurePolicy: {gracePeriodSeconds: 0}"
	}
	return fmt.Sprintf("{replicas: %d, updateStrategy: {rollingUpdate: {%s}}, %s, "+
		"template: {metadata: {labels: {app: web}}, spec: {nodeSelector: {type: real}, terminationGracePeriodSeconds: 5, containers: [%s]}}}", replicas, limits, more, containers)
}

// web returns a container with an image's tag and more fields.
func web(tag, more string) string {
	return fmt.Sprintf("{name: web, image: 'local/web:%s', "+probe+"%s}", tag, 8080, more)
}

// Changing the image restarts the containers and nothing else: the pods answer with the new version, at the same address.
func TestImageInPlace(t *testing.T) {
	t.Parallel()
	for _, policy := range []v1.PodUpdatePolicy{v1.InPlaceOnly, v1.InPlaceIfPossible} {
		t.Run(string(policy), func(t *testing.T) {
			s := newSpace(t)
			limits := fmt.Sprintf("podUpdatePolicy: %s, maxSurge: 0, maxUnavailable: 1", policy)
			s.apply(spec(3, limits, "", web("1", "")))
			s.awaitReady(3)
			before := s.pods()
			s.answers("1")
			s.apply(spec(3, limits, "", web("2", "")))
			t.Logf("3 pods, one at a time, took %v", s.awaitReady(3))
			s.stayed(before, s.pods(), 1)
			s.answers("2")
		})
	}
}

// answers checks the version that every pod answers with.
func (s *space) answers(version string) {
	s.T.Helper()
	for _, pod := range s.pods() {
		if got := s.ask(&pod, 8080).Version; got != version {
			s.T.Errorf("%s answers with version %q, want %q", pod.Name, got, version)
		}
	}
}

// If only one of two containers gets a new image, only that one is restarted. The other one keeps running.
func TestImageOfOneContainer(t *testing.T) {
	s := newSpace(t)
	two := func(tag string) string {
		return web(tag, "") + fmt.Sprintf(", {name: other, image: 'local/web:1', env: [{name: LISTEN_PORT, value: '8081'}], "+probe+"}", 8081)
	}
	s.apply(spec(2, inPlace, "", two("1")))
	s.awaitReady(2)
	before := s.pods()
	s.apply(spec(2, inPlace, "", two("2")))
	s.awaitReady(2)
	after := s.pods()
	// The API lists the statuses by the containers' names: other, web.
	s.stayed(before, after, 0, 1)
	s.answers("2")
	for _, pod := range after {
		if got := s.ask(&pod, 8081).Version; got != "1" {
			t.Errorf("the other container of %s answers with version %q, want 1", pod.Name, got)
		}
	}
}

// With a grace period, a pod's endpoint leaves the Service before its container ends, and returns after the new one is ready.
func TestImageWithGracePeriod(t *testing.T) {
	const grace = 2
	s := newSpace(t)
	limits := fmt.Sprintf(inPlace+", inPlaceGracePeriodSeconds: %d", grace)
	s.Apply("{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}}")
	s.apply(spec(2, limits, "", web("1", "")))
	s.awaitReady(2)
	before := s.pods()
	s.awaitEndpoints(2)
	w := s.witness()
	s.apply(spec(2, limits, "", web("2", "")))
	s.awaitReady(2)
	s.awaitEndpoints(2)
	s.stayed(before, s.pods(), 1)
	s.answers("2")
	for _, pod := range before {
		w.leftBefore(&pod, grace)
		// This time tells the controller when the pod left its Services. Without it, the controller would wait 10 s longer for each pod.
		if _, isKnown := podstate.ReadyWritten(&pod); !isKnown {
			t.Errorf("%s does not show when the kubelet wrote Ready: %v", pod.Name, pod.ManagedFields)
		}
	}
}
