//go:build e2e

package node

import (
	"fmt"
	"os"
	"testing"
	"time"
)

const (
	// secondNode is another real node. Only one test needs it, which starts it beside the other tests.
	secondNode = "real-node-2"
	nodeScript = "hack/cluster/node/node.sh"
)

// preferSecond are fields of pods that run on the second node while it accepts them, and otherwise on the first.
var preferSecond = fmt.Sprintf("nodeSelector: {type: real}, tolerations: [{key: real-node, value: second}], "+
	"affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, "+
	"preference: {matchFields: [{key: metadata.name, operator: In, values: [%s]}]}}]}}", secondNode)

// startSecondNode starts the second node, until the test is over. Call it before newSpaceAlone, so that the node is removed after the namespace's
// pods are deleted.
func startSecondNode(t *testing.T) {
	t.Helper()
	folder := os.Getenv("PODMANAGER_NODE") + "-2"
	remove := func() {
		// In this order: a kubelet that runs could create the object again.
		if err := runCommands([]string{nodeScript, "remove", folder}, []string{"kubectl", "delete", "node", secondNode, "--ignore-not-found"}); err != nil {
			t.Error(err)
		}
	}
	remove() // a run that was killed may have left it, cordoned
	t.Cleanup(remove)
	began := time.Now()
	if err := runCommands([]string{nodeScript, "start", folder}); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s was ready after %v", secondNode, time.Since(began).Round(100*time.Millisecond))
}
