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
//
// The commands build and push are for the controller; make image and make image-push call them. The image is an index of
// all platforms. Each platform's SBOM is in it too, as an artifact whose subject is the platform's image: so it goes along
// when any tool copies the index, and registries list it among the image's referrers.
//
// The command sbom describes a program that is in no image, such as the plugin; make release calls it.
//
// The tests whose names begin with TestE2E build the controller and start a registry: make image-test.
package main
