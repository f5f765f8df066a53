// Command image creates container images of static Go programs and pushes them, without Docker and without a base image. An image has one layer,
// which contains only the program. The same program and flags produce the same bytes.
//
// One program as a tar, for docker load, ctr images import, crane push and skopeo copy docker-archive:FILE. The platform is the one that the
// program is compiled for. -created, -env K=V and -label K=V are optional:
//
//	CGO_ENABLED=0 go build -o web ./some/package
//	"$(hack/tool.sh image)" archive -program web -ref docker.io/local/web:1 -out web.tar
//	ctr -n k8s.io images import web.tar
//
// In the image, the program is /web. It is the entrypoint, and runs as user 65532.
//
// The commands build and push are for the controller; make image and make image-push run them. The image is an index of all platforms. It also
// contains each platform's SBOM, as an artifact whose subject is the platform's image. So any tool that copies the index copies it, too, and
// registries list it among the image's referrers.
//
// The command sbom describes a program that is not in an image, such as the plugin; make release runs it.
//
// The tests whose names begin with TestE2E build the controller and start a registry: make image-test.
package main
