package sim

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/mycompany/podmanager/hack/sim/apiserver"
)

// story is a log of what happened, in order.
type story struct {
	began time.Time
	// live, if not nil, gets each line as it is added.
	live io.Writer

	mu      sync.Mutex
	entries []entry
	// all is the sum of the hashes of everything that has happened so far, including what is not part of the story. Each hash includes the time, so
	// the sum depends on the order of events, except for those at the same instant, which have no order.
	all uint64
	// isTraced means that trace gets everything that is hashed, as text.
	isTraced bool
	trace    []string
}

// entry is a line of the story: a text, or a request and the status of its answer, which are formatted only when the story is printed.
type entry struct {
	at      time.Duration
	text    string
	request *apiserver.Request
	status  int
}

func newStory(live io.Writer) *story { return &story{began: time.Now(), live: live} }

func (s *story) tell(format string, arguments ...any) {
	s.add(entry{text: fmt.Sprintf(format, arguments...)})
}

func (s *story) add(e entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.at = time.Since(s.began)
	s.entries = append(s.entries, e)
	s.note(e.text, nil)
	if s.live != nil {
		fmt.Fprintln(s.live, e)
	}
}

// note adds something to the sum of hashes. The caller holds the lock.
func (s *story) note(text string, content []byte) {
	h := fnv.New64a()
	_, _ = h.Write(binary.BigEndian.AppendUint64(nil, uint64(time.Since(s.began))))
	_, _ = h.Write([]byte(text))
	_, _ = h.Write(content)
	s.all += h.Sum64()
	if s.isTraced {
		s.trace = append(s.trace, fmt.Sprintf("%16.9f %s %q", time.Since(s.began).Seconds(), text, content))
	}
}

// wrote adds a write of any client to the trace.
func (s *story) wrote(c *apiserver.Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isTraced {
		s.trace = append(s.trace, fmt.Sprintf("%16.9f written as version %d: %v", time.Since(s.began).Seconds(), c.Version, c.Request))
	}
}

// sent records a request of the controller.
func (s *story) sent(r *apiserver.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note(r.String(), r.Body)
}

// answered records a request of the controller and its answer. The story gets writes, and reads of cached resources. Of Leases, events and watches
// it gets only failures.
func (s *story) answered(r *apiserver.Request, status int) {
	s.mu.Lock()
	s.note(r.String()+": "+strconv.Itoa(status), nil)
	s.mu.Unlock()
	isOfInterest := r.Verb != "watch" && r.Resource != nil && slices.Contains([]string{"pods", "podmanagers", "controllerrevisions"}, r.Resource.Name)
	if isOfInterest || status >= 400 {
		s.add(entry{request: r, status: status})
	}
}

func (e entry) String() string {
	text := e.text
	if e.request != nil {
		text = fmt.Sprintf("%v%s: %d", e.request, detailsOf(e.request), e.status)
	}
	return fmt.Sprintf("%10.3f %s", e.at.Seconds(), text)
}

// detailsOf summarizes the content of a request.
func detailsOf(r *apiserver.Request) string {
	const longest = 200
	if r.Verb == "patch" {
		return " " + string(r.Body[:min(len(r.Body), longest)])
	}
	if r.Verb != "create" && r.Verb != "update" {
		return ""
	}
	switch sent := r.Sent().(type) {
	case nil:
		return ""
	case *corev1.Pod:
		return fmt.Sprintf("/%s with %s", sent.Name, sent.Spec.Containers[0].Image)
	case *unstructured.Unstructured:
		return statusDetails(sent.Object)
	default:
		return strings.TrimSuffix("/"+sent.GetName(), "/"+r.Name)
	}
}

// statusDetails formats the numbers and conditions of a status.
func statusDetails(manager map[string]any) string {
	status, _, _ := unstructured.NestedMap(manager, "status")
	var details strings.Builder
	for _, name := range sorted(status) {
		if number, isNumber := status[name].(int64); isNumber {
			fmt.Fprintf(&details, " %s=%d", name, number)
		}
	}
	conditions, _ := status["conditions"].([]any)
	for _, condition := range conditions {
		fields, _ := condition.(map[string]any)
		fmt.Fprintf(&details, " %v=%v:%v", fields["type"], fields["status"], fields["reason"])
	}
	return details.String()
}

// lines returns the story as text.
func (s *story) lines() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := make([]string, 0, len(s.entries))
	for _, e := range s.entries {
		lines = append(lines, e.String())
	}
	return lines
}

// leadingTo returns the last lines before a violation that concern the namespace it names. Of lines with the same text it returns the last three.
func (s *story) leadingTo(violation string, users []*user) []string {
	const most, ofEach, time = 60, 3, len("  1234.567 ")
	lines := s.lines()
	if i := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, violation) }); i >= 0 {
		lines = lines[:i+1]
	}
	var last []string
	counts := map[string]int{}
	for _, line := range slices.Backward(lines) {
		counts[line[time:]]++
		if counts[line[time:]] <= ofEach && !isElsewhere(violation, line, users) && len(last) < most {
			last = append(last, line)
		}
	}
	slices.Reverse(last)
	return last
}

// isElsewhere reports whether a line is about another namespace than the violation.
func isElsewhere(violation, line string, users []*user) bool {
	isNamed := func(namespace string) bool { return strings.Contains(violation, namespace) }
	if !slices.ContainsFunc(namespaces, isNamed) || slices.ContainsFunc(namespaces, func(n string) bool { return isNamed(n) && strings.Contains(line, n) }) {
		return false
	}
	return slices.ContainsFunc(namespaces, func(n string) bool { return strings.Contains(line, n) }) || slices.ContainsFunc(users, func(u *user) bool {
		return !isNamed(u.namespace) && (strings.Contains(line, " "+u.name+":") || strings.Contains(line, " "+u.name+"-"))
	})
}

// fingerprint returns a number that is the same for two runs in which the same happened at the same times: all requests of the controller with
// their content, their answers, the faults, and the users' actions.
func (s *story) fingerprint() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all
}

func hashOf(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	return h.Sum64()
}
