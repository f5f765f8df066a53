package workloads

import (
	"strings"

	"github.com/mycompany/podmanager/hack/test/harness/audit"
)

// requestCounts is the number of requests of each kind, such as "update podmanagers/status".
type requestCounts map[string]int

func (c requestCounts) add(requests []audit.Request, by func(audit.Request) bool) (added int) {
	for _, r := range requests {
		if by(r) {
			c[r.What()]++
			added++
		}
	}
	return added
}

// sum counts the requests that match.
func (c requestCounts) sum(is func(what string) bool) int {
	sum := 0
	for what, count := range c {
		if is(what) {
			sum += count
		}
	}
	return sum
}

func isAny(string) bool { return true }

// isStatusWrite reports whether a request writes the status of an owner. Only nodes write the status of pods.
func isStatusWrite(what string) bool {
	return audit.IsWrite(what) && strings.HasSuffix(what, "/status") && !strings.HasSuffix(what, " pods/status")
}
