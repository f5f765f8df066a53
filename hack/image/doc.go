// Command image makes container images of static Go programs and pushes them, without Docker and without a base image:
// one layer with the program, and nothing else in it. The same program and flags give the same bytes.
//
// One program as a tar, for docker load, ctr images import, crane push and skopeo copy docker-archive:FILE. The platform
// is the one that the program is compiled for; -created, -env K=V and -label K=V may be given:
//
//	CGO_ENABLED=0 go build -o web ./some/package
//	"$(hack/tool.sh image)" archive -program web -ref docker.io/local/web:1 -out web.tar
//	ctr -n k8s.io images import web.tar
//
// The program is /web in the image, its entrypoint, and runs as user 65532.
package main
