# The controller as a static program in an image with nothing else: no shell, no package manager, no root.
# The image that compiles, by digest, so that the same sources are always compiled by the same Go. Nothing of it is in the final image.
ARG GO_IMAGE=golang:1.26.8@sha256:3c3e25a4da13fd0478eed2df1eb35a0e667094a7124d3993a6a1d30f71c17e79
# The final image is based on an empty one, as with make image: the controller needs no files except those that Kubernetes mounts.
ARG BASE_IMAGE=scratch
# What -version prints; see the Makefile. VERSION must look like v1.2.3.
ARG VERSION=v0.0.0-dev
ARG COMMIT=unknown
ARG TREE=
ARG DATE=1970-01-01T00:00:00Z

# Built on the builder's own platform and cross-compiled, which is much faster than emulating the target's.
FROM --platform=$BUILDPLATFORM ${GO_IMAGE} AS build
WORKDIR /src
COPY go.mod go.sum ./
COPY vendor vendor
COPY pkg pkg
COPY cmd cmd
ARG TARGETOS
ARG TARGETARCH
ARG VERSION
ARG COMMIT
ARG TREE
ARG DATE
# A version of another form would make the controller panic at its start, in component-base's metrics.
RUN case "$VERSION" in v[0-9]*.[0-9]*.[0-9]*) ;; *) echo "VERSION is '$VERSION', but must look like v1.2.3" >&2; exit 1 ;; esac
RUN --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 GOOS=${TARGETOS} GOARCH=${TARGETARCH} \
    go build -mod=vendor -trimpath -buildvcs=false -o /out/controller \
    -ldflags "-s -w \
    -X k8s.io/component-base/version.gitVersion=${VERSION} \
    -X k8s.io/component-base/version.gitCommit=${COMMIT} \
    -X k8s.io/component-base/version.gitTreeState=${TREE} \
    -X k8s.io/component-base/version.buildDate=${DATE}" \
    ./cmd/controller

FROM ${BASE_IMAGE}
ARG VERSION
ARG COMMIT
ARG DATE
LABEL org.opencontainers.image.title="podmanager" \
      org.opencontainers.image.description="Kubernetes controller for PodManager objects" \
      org.opencontainers.image.source="https://github.com/mycompany/podmanager" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${COMMIT}" \
      org.opencontainers.image.created="${DATE}"
COPY --from=build /out/controller /controller
# By number: Kubernetes can check runAsNonRoot only against a number.
USER 65532:65532
# Metrics and health probes.
EXPOSE 8080 8081
ENTRYPOINT ["/controller"]
