package serve

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/klog/v2"
)

const (
	// allowedFor and refusedFor are how long an answer of the API server counts: that is how long a token works after it was revoked, and
	// how long a user waits who was just granted the right. Kubernetes' own components ask as often.
	allowedFor, refusedFor = 10 * time.Second, 10 * time.Second
	// overdueFor is how long an allow still counts after that if the limit of renewals is reached, but not if the API server does not answer.
	overdueFor = time.Minute
	// maxVerdicts bounds the memory for answers of each kind.
	maxVerdicts = 1000
	// reviewTimeout is how long the API server may take: less than a scrape may.
	reviewTimeout = 5 * time.Second
	// reviewQPS and reviewBurst limit how often the API server is asked, for strangers and for renewals each. A review is two requests.
	reviewQPS, reviewBurst = 50, 100
)

// Guard lets requests through whose bearer token belongs to a user who has the right to get the path, as a nonResourceURL of RBAC. The API
// server tells who that is and what they may do. If it does not answer, no request gets through.
type Guard struct {
	client kubernetes.Interface
	// strangers limits the reviews of tokens that were not allowed before, renewals those of tokens that were. With a common limit, a
	// client with random tokens could use it up and keep those who have the right from reading.
	strangers, renewals flowcontrol.PassiveRateLimiter

	mu sync.Mutex
	// allowed and refused are the answers so far. They are apart so that strangers cannot make the Guard forget those who have the right.
	allowed, refused map[question]verdict
	// silent tells that the last review has failed, and that the log has that.
	silent bool
}

// NewGuard makes a Guard. The client needs no limit of its own.
func NewGuard(client kubernetes.Interface) *Guard {
	return &Guard{
		client:    client,
		strangers: flowcontrol.NewTokenBucketPassiveRateLimiter(reviewQPS, reviewBurst),
		renewals:  flowcontrol.NewTokenBucketPassiveRateLimiter(reviewQPS, reviewBurst),
		allowed:   map[question]verdict{},
		refused:   map[question]verdict{},
	}
}

// question is what the API server is asked. It has only a hash of the token, so that no token is kept.
type question struct {
	token      [sha256.Size]byte
	verb, path string
}

type verdict struct {
	code int
	// text is for the one who asks.
	text  string
	until time.Time
}

// Protect is the handler, for those who may.
func (g *Guard) Protect(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		verdict := g.judge(r)
		switch verdict.code {
		case http.StatusOK:
			handler.ServeHTTP(w, r)
			return
		case http.StatusUnauthorized:
			w.Header().Set("WWW-Authenticate", "Bearer")
		}
		http.Error(w, verdict.text, verdict.code)
	})
}

func (g *Guard) judge(r *http.Request) verdict {
	kind, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if token = strings.TrimSpace(token); !strings.EqualFold(kind, "Bearer") || token == "" {
		return verdict{code: http.StatusUnauthorized, text: "a bearer token is needed"}
	}
	asked := question{sha256.Sum256([]byte(token)), strings.ToLower(r.Method), r.URL.Path}
	if known, counts := g.recall(asked); counts {
		return known
	}
	ctx, cancel := context.WithTimeout(r.Context(), reviewTimeout)
	defer cancel()
	answer, err := g.review(ctx, token, asked)
	g.mu.Lock()
	defer g.mu.Unlock()
	if err != nil {
		if !g.silent && r.Context().Err() == nil { // else the one who asked has gone away
			klog.FromContext(r.Context()).Error(err, "Cannot tell who may read metrics: nobody gets them")
			g.silent = true
		}
		return verdict{code: http.StatusServiceUnavailable, text: "the API server does not tell whether you may"}
	}
	g.silent = false
	g.keep(asked, answer)
	return answer
}

// recall returns the verdict that counts without a review; false if the API server is to be asked.
func (g *Guard) recall(asked question) (verdict, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	known, wasAllowed := g.allowed[asked]
	limiter := g.renewals
	if !wasAllowed {
		known, limiter = g.refused[asked], g.strangers
	}
	switch now := time.Now(); {
	case now.Before(known.until):
		return known, true
	case limiter.TryAccept():
		return verdict{}, false
	case wasAllowed && now.Before(known.until.Add(overdueFor)):
		return known, true
	}
	return verdict{code: http.StatusTooManyRequests, text: "too many tokens to check: try again in a few seconds"}, true
}

// keep keeps an answer. If there are too many of its kind, it replaces the oldest.
func (g *Guard) keep(asked question, answer verdict) {
	kept, other := g.refused, g.allowed
	if answer.code == http.StatusOK {
		kept, other = g.allowed, g.refused
	}
	delete(other, asked)
	kept[asked] = answer
	if len(kept) <= maxVerdicts {
		return
	}
	oldest := asked
	for question, verdict := range kept {
		if verdict.until.Before(kept[oldest].until) {
			oldest = question
		}
	}
	delete(kept, oldest)
}

// review asks the API server whose token it is, and what they may do.
func (g *Guard) review(ctx context.Context, token string, asked question) (verdict, error) {
	refusal := verdict{code: http.StatusUnauthorized, text: "the token is not valid", until: time.Now().Add(refusedFor)}
	who, err := g.client.AuthenticationV1().TokenReviews().Create(ctx, &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token},
	}, metav1.CreateOptions{})
	if err != nil || !who.Status.Authenticated {
		return refusal, err
	}
	user := who.Status.User
	extra := make(map[string]authorizationv1.ExtraValue, len(user.Extra))
	for key, values := range user.Extra {
		extra[key] = authorizationv1.ExtraValue(values)
	}
	may, err := g.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
			NonResourceAttributes: &authorizationv1.NonResourceAttributes{Verb: asked.verb, Path: asked.path},
		},
	}, metav1.CreateOptions{})
	if err != nil || !may.Status.Allowed {
		refusal.code = http.StatusForbidden
		refusal.text = fmt.Sprintf("%s may not %s %s: the ClusterRole podmanager-metrics-reader has the right", user.Username, asked.verb, asked.path)
		return refusal, err
	}
	return verdict{code: http.StatusOK, until: time.Now().Add(allowedFor)}, nil
}
