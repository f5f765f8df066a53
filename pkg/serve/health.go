package serve

import (
	"fmt"
	"net/http"
	"strings"
)

// Check is one part of a health check.
type Check struct {
	Name string
	// Run returns an error if the check fails, and otherwise an optional warning.
	Run func() (warning string, err error)
	// Note, if not nil, adds details to a check that passes without a warning.
	Note func() string
}

// Health returns the handler of /livez, /healthz and /readyz.
func Health(live, ready []Check) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /livez", checksHandler("livez", live))
	mux.Handle("GET /healthz", checksHandler("healthz", live))
	mux.Handle("GET /readyz", checksHandler("readyz", ready))
	return mux
}

// checksHandler answers in the format of the API server's health checks. It lists all checks if one fails, or with ?verbose. A warning, which the
// API server does not have, is marked with [!].
func checksHandler(name string, checks []Check) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body strings.Builder
		failed := false
		for _, check := range append([]Check{{Name: "ping", Run: func() (string, error) { return "", nil }}}, checks...) {
			switch warning, err := check.Run(); {
			case err != nil:
				failed = true
				fmt.Fprintf(&body, "[-]%s failed: %v\n", check.Name, err)
			case warning != "":
				fmt.Fprintf(&body, "[!]%s: %s\n", check.Name, warning)
			case check.Note != nil:
				fmt.Fprintf(&body, "[+]%s ok: %s\n", check.Name, check.Note())
			default:
				fmt.Fprintf(&body, "[+]%s ok\n", check.Name)
			}
		}
		switch {
		case failed:
			http.Error(w, body.String()+name+" check failed", http.StatusInternalServerError)
		case r.URL.Query().Has("verbose"):
			fmt.Fprintf(w, "%s%s check passed\n", &body, name)
		default:
			fmt.Fprint(w, "ok")
		}
	})
}
