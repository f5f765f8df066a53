//go:build e2e

package core

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/mycompany/podmanager/hack/test/harness"
)

// rolling returns the field updateStrategy with fields of a rolling update.
func rolling(fields string) string { return "updateStrategy: {rollingUpdate: {" + fields + "}}" }

// badRollouts returns fields of a spec, and the messages with which they are refused.
func badRollouts() map[string]string {
	const (
		both    = "maxSurge and maxUnavailable must not both be 0: no pod could ever be replaced"
		number  = " must be a number of at least 0 or a percentage from 0% to 100%"
		surge   = "maxSurge must be a number of at least 0 or a percentage from 0% to 9999%"
		wrong   = "updateStrategy.rollingUpdate is only for updateStrategy.type RollingUpdate; remove it, or change the type"
		failed  = "failurePolicy.failureThreshold must be a number of at least 1 or a percentage from 1% to 100%"
		restart = "restartAt must be a time such as 2026-11-15T12:00:00Z"
		sooner  = "failurePolicy.gracePeriodSeconds (30 unless set) must be below progressDeadlineSeconds"
	)
	return map[string]string{
		rolling("maxSurge: 0, maxUnavailable: 0"):                              both,
		rolling("maxSurge: 0%, maxUnavailable: 0%"):                            both,
		rolling("maxSurge: 0, maxUnavailable: 0%"):                             both,
		rolling("maxSurge: -1"):                                                surge,
		rolling("maxSurge: 10000%"):                                            surge,
		rolling("maxSurge: many"):                                              surge,
		rolling("maxSurge: '5'"):                                               surge,
		rolling("maxUnavailable: -1"):                                          "maxUnavailable" + number,
		rolling("maxUnavailable: -1%"):                                         "maxUnavailable" + number,
		rolling("maxUnavailable: 200%"):                                        "maxUnavailable" + number,
		rolling("maxUnavailable: 1.5%"):                                        "maxUnavailable" + number,
		rolling("partition: 101%"):                                             "partition" + number,
		rolling("partition: -1"):                                               "partition" + number,
		rolling("podUpdatePolicy: Patch"):                                      `supported values: "Recreate", "InPlaceIfPossible", "InPlaceOnly"`,
		rolling("inPlaceGracePeriodSeconds: -1"):                               "inPlaceGracePeriodSeconds in body should be greater than or equal to 0",
		rolling("maxSurges: 1"):                                                `unknown field "spec.updateStrategy.rollingUpdate.maxSurges"`,
		"updateStrategy: {type: Rolling}":                                      `supported values: "RollingUpdate", "Recreate", "OnDelete"`,
		"updateStrategy: {type: Recreate, rollingUpdate: {maxSurge: 1}}":       wrong,
		"updateStrategy: {type: OnDelete, rollingUpdate: {partition: 1}}":      wrong,
		"failurePolicy: {onFailure: Retry}":                                    `supported values: "Continue", "Halt", "Rollback"`,
		"failurePolicy: {failureThreshold: 0}":                                 failed,
		"failurePolicy: {failureThreshold: -1}":                                failed,
		"failurePolicy: {failureThreshold: 0%}":                                failed,
		"failurePolicy: {failureThreshold: 101%}":                              failed,
		"failurePolicy: {failureThreshold: 1.5%}":                              failed,
		"failurePolicy: {failureThreshold: '2'}":                               failed,
		"failurePolicy: {failureThreshold: some}":                              failed,
		"restartAt: now":                                                       "spec.restartAt in body must be of type date-time",
		"restartAt: '2026-11-15'":                                              "spec.restartAt in body must be of type date-time",
		"restartAt: '2026-11-15t12:00:00z'":                                    restart, // a date-time for the schema, but not for Go
		"restartAt: '2026-11-15T12:00:00x5Z'":                                  restart,
		"restartAt: '2026-11-15T12:00:00+25:00'":                               restart,
		"restartAt: '0001-01-01T00:00:00Z'":                                    restart,
		"failurePolicy: {gracePeriodSeconds: -1}":                              "gracePeriodSeconds in body should be greater than or equal to 0",
		"progressDeadlineSeconds: 0":                                           "progressDeadlineSeconds in body should be greater than or equal to 1",
		"progressDeadlineSeconds: 30":                                          sooner,
		"progressDeadlineSeconds: 60, failurePolicy: {gracePeriodSeconds: 60}": sooner,
		"failurePolicy: {gracePeriodSeconds: 600}":                             sooner,
		"minReadySeconds: 600":                                                 "minReadySeconds must be below progressDeadlineSeconds: no pod could become available before the deadline",
		"revisionHistoryLimit: -1":                                             "revisionHistoryLimit in body should be greater than or equal to 0",
	}
}

// The API server refuses invalid settings of a rollout at apply, with a message that says what to do.
func TestBadRolloutIsRefused(t *testing.T) {
	s := newSpace(t)
	for fields, want := range badRollouts() {
		t.Run(fields, func(t *testing.T) {
			out, err := s.DryRun(harness.Manifest("web", "", "{image: a, "+fields+"}"))
			if err == nil || !strings.Contains(out, want) {
				t.Errorf("create: %v\n%s\nwant: %s", err, out, want)
			}
		})
	}
	for _, fields := range []string{
		rolling("maxSurge: 0"), rolling("maxUnavailable: 0"), rolling("maxSurge: 0, maxUnavailable: 1%"), rolling("maxSurge: 100%, maxUnavailable: 0%"), rolling("maxSurge: 200%"),
		rolling("partition: 100%"), rolling("partition: 1000"), "updateStrategy: {type: Recreate}", "updateStrategy: {type: OnDelete}",
		"failurePolicy: {bakeSeconds: 0}", "failurePolicy: {failureThreshold: 1}", "failurePolicy: {failureThreshold: 1%}", "failurePolicy: {failureThreshold: 100%}", "failurePolicy: {failureThreshold: 1000}",
		"progressDeadlineSeconds: 31", "progressDeadlineSeconds: 1, failurePolicy: {gracePeriodSeconds: 0}", "minReadySeconds: 599",
		"restartAt: '2026-11-15T12:00:00Z'", "restartAt: '2026-11-15T12:00:00.123-08:00'", "restartAt: null",
	} {
		t.Run(fields, func(t *testing.T) {
			if out, err := s.DryRun(harness.Manifest("web", "", "{image: a, "+fields+"}")); err != nil {
				t.Errorf("create: %v\n%s", err, out)
			}
		})
	}
}

// The API server refuses numbers that do not fit an int32, because the controller could not decode the object.
func TestHugeNumbersAreRefused(t *testing.T) {
	s := newSpace(t)
	for _, field := range []string{"updateStrategy: {rollingUpdate: {maxSurge: %d}}", "updateStrategy: {rollingUpdate: {maxUnavailable: %d}}",
		"updateStrategy: {rollingUpdate: {partition: %d}}", "scaleDown: {maxTerminating: %d}", "failurePolicy: {failureThreshold: %d}"} {
		if out, err := s.DryRun(harness.Manifest("web", "", "{image: a, "+fmt.Sprintf(field, 1<<31)+"}")); err == nil {
			t.Errorf("%s: %s", field, out)
		}
	}
}

// The API server sets the defaults of missing fields.
func TestRolloutDefaults(t *testing.T) {
	s := newSpace(t)
	tests := map[string]struct{ fields, want string }{
		"nothing given": {"", `{"updateStrategy":{"type":"RollingUpdate"},"failurePolicy":{"onFailure":"Halt","failureThreshold":1,"gracePeriodSeconds":30},
			"progressDeadlineSeconds":600,"revisionHistoryLimit":10}`},
		"some given": {", updateStrategy: {rollingUpdate: {}}, failurePolicy: {onFailure: Rollback}", `{"updateStrategy":{"type":"RollingUpdate",
			"rollingUpdate":{"maxSurge":"25%","maxUnavailable":"25%","partition":0,"podUpdatePolicy":"Recreate"}},
			"failurePolicy":{"onFailure":"Rollback","failureThreshold":1,"gracePeriodSeconds":30}}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			out, err := s.TryKubectl(harness.Manifest("web", "", "{image: a"+test.fields+"}"), "apply", "--dry-run=server", "-o", "json", "-f", "-")
			var got struct{ Spec map[string]any }
			var want map[string]any
			if err != nil || json.Unmarshal([]byte(out), &got) != nil || json.Unmarshal([]byte(test.want), &want) != nil {
				t.Fatalf("create: %v\n%s", err, out)
			}
			for field, value := range want {
				if !reflect.DeepEqual(got.Spec[field], value) {
					t.Errorf("%s is %v, want %v", field, got.Spec[field], value)
				}
			}
		})
	}
}
