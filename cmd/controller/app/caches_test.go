package app

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"github.com/mycompany/podmanager/pkg/controller/source"
)

// If the caches of a process are discarded, it stops its controller at once, and starts another one on new caches. It keeps its Lease.
func TestRewound(t *testing.T) {
	for name, server := range map[string]*kubefake.Clientset{"alone": nil, "elected": kubefake.NewClientset()} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := testContext(t)
				p, _, _ := testProcess(ctx, t, server)
				role := p.role.(*controllerRole)
				var made []*fakeScopes
				role.caches = newCaches(func() (scopes, []source.Scope) {
					made = append(made, newFakeScopes())
					return made[len(made)-1], nil
				})
				var workers []*fakeController
				role.newController = func(context.Context, []source.Scope) (reconciler, error) {
					workers = append(workers, &fakeController{})
					return workers[len(workers)-1], nil
				}
				releases := 0
				if server != nil {
					server.PrependReactor("update", "leases", func(action clienttesting.Action) (bool, runtime.Object, error) {
						if isRelease(action) {
							releases++
						}
						return false, nil, nil
					})
				}
				ended := make(chan error)
				go func() { ended <- p.Run(ctx) }()
				made[0].serve()
				pass(time.Minute)
				made[0].rewound <- errors.New("rewound")
				rewound := time.Now()
				pass(5 * time.Second)
				if len(workers) != 2 || workers[0].ended != rewound || workers[1].started != rewound || !workers[1].ended.IsZero() {
					t.Fatalf("want a controller that ended and one that started at %v, when the caches were discarded; got %+v", rewound, workers)
				}
				if len(made) != 2 || made[0].ended != rewound || made[1].started.IsZero() {
					t.Errorf("want the first informers to end at %v, and second ones to start; got %+v", rewound, made)
				}
				if releases > 0 {
					t.Error("the process released the Lease when it discarded the caches")
				}
				stop()
				if err := <-ended; err != nil || workers[1].ended.IsZero() || made[1].ended.Before(workers[1].ended) {
					t.Errorf("the process ended with error %v, the workers ended at %v, the informers at %v", err, workers[1].ended, made[1].ended)
				}
			})
		})
	}
}

// If caches are discarded repeatedly, the delay before new ones grows. After a quiet period, it is short again.
func TestRewoundAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var made []time.Time
		peace := make(chan error)
		c := newCaches(func() (scopes, []source.Scope) {
			made = append(made, time.Now())
			fake := newFakeScopes()
			if fake.rewound <- errors.New("rewound"); len(made) == 9 {
				fake.rewound = peace
			}
			return fake, nil
		})
		began := time.Now()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			c.run(ctx)
		}()
		pass(10 * time.Minute)
		if took := made[8].Sub(began); len(made) != 9 || took < 2*time.Minute || took > 5*time.Minute {
			t.Errorf("the caches were created %d times within %v, want 9 times within 2 to 5 minutes", len(made), took)
		}
		peace <- errors.New("rewound")
		pass(2 * time.Second)
		if len(made) != 11 {
			t.Errorf("the caches were created %d times within 2 s after a quiet period, want twice", len(made)-9)
		}
		stop()
		<-ended
	})
}

// A candidate waits until caches are served, even if the first ones have been discarded.
func TestRewoundBeforeServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := testContext(t)
		p, worker, _ := testProcess(ctx, t, kubefake.NewClientset())
		var made []*fakeScopes
		p.role.(*controllerRole).caches = newCaches(func() (scopes, []source.Scope) {
			made = append(made, newFakeScopes())
			return made[len(made)-1], nil
		})
		ended := make(chan error)
		go func() { ended <- p.Run(ctx) }()
		made[0].rewound <- errors.New("rewound")
		pass(time.Minute)
		made[1].serve()
		pass(time.Second)
		if worker.started.IsZero() {
			t.Error("the replica does not lead, although its second caches are served")
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func isRelease(action clienttesting.Action) bool {
	lease, isLease := action.(clienttesting.UpdateAction).GetObject().(*coordinationv1.Lease)
	return isLease && ptr.Deref(lease.Spec.HolderIdentity, "") == ""
}
