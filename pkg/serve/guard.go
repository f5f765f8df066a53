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
	// allowedFor and refusedFor are how long an answer of the API server is cached. A revoked token still works for allowedFor, and a user who was
	// just granted access waits for up to refusedFor. Components of Kubernetes cache answers for similar times.
	allowedFor, refusedFor = 10 * time.Second, 10 * time.Second
	// overdueFor is how much longer an allow stays valid if the renewal limit is reached. It does not apply if the API server does not answer.
	overdueFor = time.Minute
	// maxVerdicts limits the number of cached answers of each kind.
	maxVerdicts = 1000
	// reviewTimeout limits the review by the API server. It is shorter than the usual scrape timeout.
	reviewTimeout = 5 * time.Second
	// reviewQPS and reviewBurst limit reviews by the API server, separately for unknown tokens and for renewals. A review is up to two requests.
	reviewQPS, reviewBurst = 50, 100
)

// Guard lets a request through if its bearer token belongs to a user whom RBAC allows to get the path as a nonResourceURL. The API server
// authenticates and authorizes the user. If the API server does not answer, only requests whose allow is still cached get through.
type Guard struct {
	client kubernetes.Interface
	// firstReviews limits reviews of tokens that were not allowed before. renewals limits reviews of tokens whose allow has expired. With one limit
	// for both, a client with random tokens could use it up and block authorized users.
	firstReviews, renewals flowcontrol.PassiveRateLimiter

	mu sync.Mutex
	// allowed and refused cache the answers. They are separate so that unknown tokens cannot evict allowed ones.
	allowed, refused map[question]verdict
	// silent is set if the last review failed and the failure was logged.
	silent bool
}

// NewGuard creates a Guard. The client needs no rate limit, because the Guard has its own.
func NewGuard(client kubernetes.Interface) *Guard {
	return &Guard{
		client:       client,
		firstReviews: flowcontrol.NewTokenBucketPassiveRateLimiter(reviewQPS, reviewBurst),
		renewals:     flowcontrol.NewTokenBucketPassiveRateLimiter(reviewQPS, reviewBurst),
		allowed:      map[question]verdict{},
		refused:      map[question]verdict{},
	}
}

// question is a request to review. It holds only a hash of the token, so that no token is kept in memory.
type question struct {
	token      [sha256.Size]byte
	verb, path string
}

type verdict struct {
	code int
	// text is the response to the client.
	text  string
	until time.Time
}

// Protect wraps a handler and refuses unauthorized requests.
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
		if !g.silent && r.Context().Err() == nil { // otherwise the client has disconnected
			klog.FromContext(r.Context()).Error(err, "Cannot authorize requests for metrics, refusing them")
			g.silent = true
		}
		return verdict{code: http.StatusServiceUnavailable, text: "the API server has not answered whether you may read this path: try again later"}
	}
	g.silent = false
	g.keep(asked, answer)
	return answer
}

// recall returns a verdict that needs no review. It returns false if the API server must be asked.
func (g *Guard) recall(asked question) (verdict, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	known, wasAllowed := g.allowed[asked]
	limiter := g.renewals
	if !wasAllowed {
		known, limiter = g.refused[asked], g.firstReviews
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

// keep caches an answer. If there are too many of its kind, it evicts the oldest.
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

// review asks the API server to authenticate the token and to authorize its user.
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
		refusal.text = fmt.Sprintf("%s may not %s %s: bind a ClusterRole with this right to the user, such as podmanager-metrics-reader to get /metrics",
			user.Username, asked.verb, asked.path)
		return refusal, err
	}
	return verdict{code: http.StatusOK, until: time.Now().Add(allowedFor)}, nil
}
