// Web runs in the pods of tests on a real node. It is a web server that describes itself, and that can be made to misbehave by its image (MODE) or
// later by a request.
//
//	GET  /           version, environment, and the limits that the kernel enforces for this container, as JSON
//	GET  /version    the version alone
//	GET  /readyz     200, or 503 after a request for /unready, until one for /ready
//	GET  /livez      200, or 503 after a request for /dead
//	GET  /held       200, after a request for /release
//	POST /release    lets GET /held and a pod with LINGER continue
//	POST /crash      exits at once with exit code 7
//	POST /eat?mib=N  allocates N MiB of memory and keeps them; N = 0 frees them
//	POST /fill?mib=N creates the file /scratch/filled of N MiB; there must be a volume
//
// With the MODE done, it exits at once with exit code 0, like an init container. With LINGER, it does not obey a signal before a request for
// /release.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// crashCode is the exit code of a requested crash.
const crashCode = 7

// server has the state that requests can change.
type server struct {
	unready, dead atomic.Bool
	eaten         atomic.Pointer[[]byte]
	// released is closed when waiting requests may continue. release closes it.
	released chan struct{}
	release  func()
}

func newServer() *server {
	s := &server{released: make(chan struct{})}
	s.release = sync.OnceFunc(func() { close(s.released) })
	return s
}

func main() {
	s := newServer()
	switch mode := os.Getenv("MODE"); mode {
	case "":
	case "done":
		log.Printf("Done, as MODE asks")
		return
	case "crash":
		log.Printf("Crashing, as MODE asks")
		os.Exit(crashCode)
	case "crash-later":
		time.AfterFunc(2*time.Second, func() { os.Exit(crashCode) })
	case "unready":
		s.unready.Store(true)
	case "dead":
		s.dead.Store(true)
	default:
		log.Fatalf("MODE is %q, but must be done, crash, crash-later, unready, dead or nothing", mode)
	}
	go s.obeySignals()
	port := os.Getenv("LISTEN_PORT")
	if port == "" {
		port = "8080"
	}
	log.Printf("Listening on port %s", port)
	log.Fatal(http.ListenAndServe(":"+port, s.routes()))
}

// obeySignals ends the program on a signal, which the first process of a container would otherwise ignore. EXIT_CODE replaces the exit code 0.
func (s *server) obeySignals() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	log.Printf("Ending after %v", <-signals)
	if os.Getenv("LINGER") != "" {
		<-s.released
	}
	code, _ := strconv.Atoi(os.Getenv("EXIT_CODE"))
	os.Exit(code)
}

func (s *server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.describe)
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, os.Getenv("VERSION")) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { answer(w, !s.unready.Load()) })
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { answer(w, !s.dead.Load()) })
	mux.HandleFunc("GET /held", s.hold)
	mux.HandleFunc("POST /release", func(http.ResponseWriter, *http.Request) { s.release() })
	mux.HandleFunc("POST /unready", func(http.ResponseWriter, *http.Request) { s.unready.Store(true) })
	mux.HandleFunc("POST /ready", func(http.ResponseWriter, *http.Request) { s.unready.Store(false) })
	mux.HandleFunc("POST /dead", func(http.ResponseWriter, *http.Request) { s.dead.Store(true) })
	mux.HandleFunc("POST /crash", func(http.ResponseWriter, *http.Request) { os.Exit(crashCode) })
	mux.HandleFunc("POST /eat", s.eat)
	mux.HandleFunc("POST /fill", fill)
	return mux
}

func answer(w http.ResponseWriter, well bool) {
	if !well {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	fmt.Fprintln(w, well)
}

// hold delays its response until a release, for a hook that takes long.
func (s *server) hold(w http.ResponseWriter, r *http.Request) {
	select {
	case <-s.released:
		answer(w, true)
	case <-r.Context().Done():
	}
}

// eat touches every page, because the kernel counts only touched pages.
func (s *server) eat(w http.ResponseWriter, r *http.Request) {
	mib, ok := mebibytes(w, r)
	if !ok {
		return
	}
	s.eaten.Store(nil)
	debug.FreeOSMemory()
	memory := make([]byte, mib<<20)
	for i := 0; i < len(memory); i += os.Getpagesize() {
		memory[i] = 1
	}
	s.eaten.Store(&memory)
}

// fill writes every byte, because a sparse file uses no space.
func fill(w http.ResponseWriter, r *http.Request) {
	mib, ok := mebibytes(w, r)
	if !ok {
		return
	}
	if err := os.WriteFile("/scratch/filled", make([]byte, mib<<20), 0o600); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// mebibytes returns the number in a request. If it is missing or invalid, it writes an error response and returns false.
func mebibytes(w http.ResponseWriter, r *http.Request) (int, bool) {
	mib, err := strconv.Atoi(r.URL.Query().Get("mib"))
	if err != nil || mib < 0 {
		http.Error(w, "mib must be a number that is not negative", http.StatusBadRequest)
		return 0, false
	}
	return mib, true
}

// describe responds with what tests need to know about the pod.
func (s *server) describe(w http.ResponseWriter, _ *http.Request) {
	environment := map[string]string{}
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		environment[name] = value
	}
	_ = json.NewEncoder(w).Encode(map[string]any{
		"version": os.Getenv("VERSION"), "env": environment, "cpu": cpuLimit(), "memory": memoryLimit(),
	})
}
