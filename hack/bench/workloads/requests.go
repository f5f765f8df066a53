package workloads

import (
	"strings"

	"github.com/mycompany/podmanager/hack/test/harness/audit"
)

// requestCounts is how often each kind of request was made, such as "update podmanagers/status".
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

// sum counts the requests that are asked for.
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

// isStatusWrite is about the status of owners: nobody but a node writes that of a pod.
func isStatusWrite(what string) bool {
	return audit.IsWrite(what) && strings.HasSuffix(what, "/status") && !strings.HasSuffix(what, " pods/status")
}
