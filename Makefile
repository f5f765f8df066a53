# Everything a developer does here, one target each; `make` alone lists them.
SHELL := bash
.SHELLFLAGS := -e -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# The VERSION given on the command line. A release needs it; other targets find a version by themselves.
asked := $(VERSION)
# component-base's metrics refuse to start in a program whose version is not vX.Y.Z..., so a bare commit is never the version.
ifndef VERSION
VERSION := $(shell git describe --tags --match 'v[0-9]*' --dirty 2>/dev/null || \
	echo "v0.0.0-dev-$$(git describe --always --exclude '*' --dirty 2>/dev/null)" | sed 's/-$$//')
endif
ifeq ($(shell [[ '$(VERSION)' =~ ^v[0-9]+\.[0-9]+\.[0-9]+[0-9A-Za-z._-]*$$ ]] && echo ok),)
$(error VERSION is '$(VERSION)', but must look like v1.2.3 or v1.2.3-rc1)
endif
COMMIT := $(shell git rev-parse --verify --quiet HEAD 2>/dev/null || echo unknown)
TREE := $(if $(shell git status --porcelain 2>/dev/null || echo unknown),dirty,clean)
# The commit's date rather than today's: the same commit builds the same bytes.
DATE := $(shell TZ=UTC0 git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd 2>/dev/null || echo 1970-01-01T00:00:00Z)

stamp := k8s.io/component-base/version
LDFLAGS := -X $(stamp).gitVersion=$(VERSION) -X $(stamp).gitCommit=$(COMMIT) \
	-X $(stamp).gitTreeState=$(TREE) -X $(stamp).buildDate=$(DATE)

IMG ?= mycompany/podmanager:$(VERSION)
BASE_IMAGE ?= scratch
DOCKER ?= docker
PLATFORMS ?= linux/amd64 linux/arm64
IMAGE_DIR ?= .bin/image
PLUGIN_PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
# Where the files of a release will be downloaded from.
RELEASE_URL ?= https://github.com/mycompany/podmanager/releases/download/$(VERSION)
# No setting of the user may influence the image: it has to be the same on every machine.
PLAIN_GO := env GOENV=off GOFLAGS= GOWORK=off GOEXPERIMENT= GOFIPS140=off GOAMD64=v1 GOARM64=v8.0 CGO_ENABLED=0 go
# For the nested modules, as in hack/tool.sh.
MODULE_GO := env GOFLAGS=-mod=readonly GOWORK=off CGO_ENABLED=0 go
# Evaluated when a recipe needs it: without a kubectl on PATH this builds the one of the local cluster.
KUBECTL ?= $(shell command -v kubectl || echo "$$(hack/cluster/cluster.sh bin)/kubectl")
export CLUSTER ?= podmanager-demo
export TEST_CLUSTER ?= podmanager-test
export KEEP E2E_TIMEOUT NODE STARVE KUBERNETES
# Without paths in what is compiled, all clones on a machine share Go's build cache: a fresh clone compiles nothing twice.
export GOFLAGS := $(strip -trimpath $(filter-out -trimpath,$(GOFLAGS)))
# More arguments for the controller (run, debug) or go test (unit, e2e).
ARGS ?=

##@ Start here
.PHONY: help demo demo-down
help: ## Print this list
	@awk 'BEGIN {FS = ":.*## "; print "usage: make TARGET"} \
		/^##@ / {printf "\n%s\n", substr($$0, 5)} \
		/^[a-z0-9-]+:.*## / {printf "  %-13s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

# A KUBECONFIG of the environment does not count: nothing is installed on a cluster unless this command names it.
given = $(if $(filter command,$(origin KUBECONFIG)),'$(KUBECONFIG)')
demo: ## See it work: a local cluster, the controller, and a tour with kubectl; NODE=real runs containers; KUBECONFIG=FILE uses your own cluster
	@hack/demo.sh up $(given)

demo-down: ## Stop what demo has left running
	@hack/demo.sh down $(given)

##@ Change it
.PHONY: quick fmt generate lint lint-changed unit unit-short
quick: ## Before each commit, a minute: unit tests with short simulations, lint of what changed, a few end-to-end tests on a cluster that stays up
	@hack/test.sh e2e-quick -- unit-short lint-changed

fmt: ## Format the code with gofmt, except for generated and vendored code
	@find cmd hack pkg -name '*.go' -not -path 'pkg/generated/*' -print0 | xargs -0 gofmt -l -w

generate: ## Generate client code, deepcopy functions and the CRD from the types, the copies in the chart, and a schema for Kustomize
	@hack/update-codegen.sh

lint: ## Check with gofmt and golangci-lint; changes no file
	@hack/lint.sh

lint-changed:
	@hack/lint.sh changed

# Without vet, which also analyses all imported packages and takes as long as compiling them: make lint runs it. And without the data that only
# debuggers read. Memory is cheaper than CPU time, so garbage is collected less often.
GO_TEST := GOGC=$${GOGC:-400} go test -v -vet=off -ldflags='-s -w'
unit: ## Run the unit tests; ARGS='-run Partition' narrows
	@$(GO_TEST) ./pkg/... ./cmd/... ./hack/... $(ARGS)
	@for module in hack/release/attest hack/tools/kstatus; do \
		$(MODULE_GO) -C $$module test -v -vet=off -trimpath -buildvcs=false ./...; \
	done

# With -short, simulations play only a few courses, and the tests that flood a webhook are skipped.
unit-short:
	@$(GO_TEST) -short ./pkg/... ./cmd/... ./hack/... $(ARGS)

##@ Test it
.PHONY: test test-all test-rest e2e e2e-quick e2e-rest e2e-node e2e-evictors race verify vulncheck integrations fuzz fuzz-short mutants cover
test: ## The gate of a change, minutes: all unit tests, and the end-to-end tests of controller and plugin; STARVE=70 leaves them 30 % of each core
	@hack/test.sh e2e -- unit

test-all: ## Everything, 20 minutes: besides test also race, verify, integrations, fuzz, the other suites, the real node, image, release, chaos and bench in short
	@exec $(MAKE) --keep-going test test-rest

# The second half of test-all. The table at its end is about both halves.
test-rest:
	@TEST_TABLE=both hack/test.sh e2e-rest e2e-node bench-short -- race verify vulncheck integrations fuzz-short image-test release-short chaos-short

e2e: ## The suites of controller and plugin on a real API server; SUITE=shards for another, KUBERNETES=v1.35, KEEP=1, ARGS='-run Scale'
	@hack/test-e2e.sh $(or $(SUITE),core plugin) -- $(ARGS)

e2e-rest: ## The other suites: chart, monitoring, conversion, webhook, shards, upgrade, simulation, and tests of core on separate clusters
	@hack/test-e2e.sh chart monitoring conversion webhook shards upgrade separate simulation -- $(ARGS)

e2e-evictors: ## Programs that evict pods of PodManagers: VPA's updater and the descheduler; the first build takes minutes; not a part of test-all
	@hack/test-e2e.sh evictors -- $(ARGS)

e2e-quick:
	@KEEP=1 TEST_CLUSTER=$(TEST_CLUSTER)-quick hack/test-e2e.sh core -- -run '$(QUICK)' $(ARGS)
QUICK := ^Test(Create|ScaleSubresource|Delete|RollingUpdate|Quota|RelabelledPod)$$

e2e-node: ## The suite on a real node, as root on Linux after make node-deps; KEEP=1 and ARGS= as for e2e
	@NODE=real E2E_PARALLEL=$(or $(E2E_PARALLEL),24) TEST_CLUSTER=$(TEST_CLUSTER)-node hack/test-e2e.sh node -- $(ARGS)

# All but the pure packages: these start no goroutine, and have no state that two goroutines could share.
RACE = $$(go list ./pkg/... ./cmd/... ./hack/... | grep -vE '/pkg/(plan|world|generated)(/|$$)')
race: ## The unit tests of everything concurrent with the race detector, which needs a C compiler
	@if [ "$$(go env CGO_ENABLED)" != 1 ]; then echo "No C compiler found: skipped"; else $(GO_TEST) -race $(RACE) $(ARGS); fi

verify: lint ## Check that nothing is left to generate, format or vendor, that chart and manifests agree, and test the alerts; changes no file
	@hack/verify-codegen.sh
	@hack/verify-chart.sh
	@hack/verify-monitoring.sh

vulncheck: ## Check that no code with a known vulnerability is called
	@hack/vulncheck.sh

# The nested modules in which artifacts/integrations is tested with the code of other projects. Go does not notice that a file outside of a
# module has changed, and would reuse the result of an earlier run: hence -count 1.
INTEGRATIONS := hack/tools/kustomize hack/tools/autoscalers hack/tools/karmada hack/tools/argocd
integrations: ## Test artifacts/integrations with the code of Kustomize, KEDA, VPA and Argo CD, the first time for minutes; ARGS='-run Labels' narrows
	@for module in $(INTEGRATIONS); do \
		$(MODULE_GO) -C $$module test -v -vet=off -trimpath -buildvcs=false -count 1 ./... $(ARGS); \
	done

fuzz: ## Search for input that breaks the code that reads it, FUZZ_TIME=1m for each fuzz test; TARGET='Convert|Trim' narrows
	@hack/fuzz.sh -each $(or $(FUZZ_TIME),1m) $(TARGET)

fuzz-short: ## The same for 30 s in all, with the same seed every time
	@FUZZ_SEED=$(or $(FUZZ_SEED),1) hack/fuzz.sh -all $(or $(FUZZ_TIME),30s) $(TARGET)

mutants: ## Break the planner on purpose, and print what its tests do not notice; ONLY=, RULES= and SAMPLE=300 choose, SEED= makes the sample another
	@go run ./hack/mutants -only '$(or $(ONLY),.*)' -sample $(or $(SAMPLE),300) -seed $(or $(SEED),1) -rules '$(RULES)'

cover: ## Print how much of each package the unit tests cover, lowest first
	@hack/cover.sh $(ARGS)

##@ Prove it, next to the ReplicaSet controller, on a separate cluster
.PHONY: search mutants-sim chaos chaos-short mutants-chaos bench bench-short
search: ## The whole controller in simulated clusters with faults, for TIME=1m; prints what is violated, the story that led to it, and the seed; SEED=5 begins there
	@SIM_TIME=$(or $(TIME),1m) SIM_SEED=$(SEED) go test ./hack/sim -run '^TestSearch$$' -count 1 -timeout 0 -v

mutants-sim: ## Broken controllers that the simulation must catch, at most a minute of CPU each, without a cluster; MUTANT=list names them, MUTANT= chooses
	@go build -o .bin/ ./hack/chaos && exec .bin/chaos -simulated -mutants '$(or $(MUTANT),.*)' $(ARGS)

chaos: ## Faults of real processes for at least 15 minutes; SCENARIO=list names them, SCENARIO=, SEED= and ROUNDS= choose; DURATION= ends it even if some had no round
	@$(call campaign,chaos) $(if $(SCENARIO),-scenario '$(SCENARIO)') $(if $(SEED),-seed $(SEED)) $(if $(ROUNDS),-rounds $(ROUNDS)) \
		$(if $(DURATION),-duration $(DURATION)) $(ARGS)

chaos-short: ## A minute and a half of faults, the same every time; SEED= makes it another
	@$(call campaign,chaos) -short $(if $(SEED),-seed $(SEED)) $(ARGS)

mutants-chaos: ## Broken controllers that the scenarios must catch; MUTANT= and SCENARIO= choose; ARGS='-starve 70'
	@$(call campaign,chaos) -mutants '$(or $(MUTANT),.*)' $(if $(SCENARIO),-scenario '$(SCENARIO)') -seed $(or $(SEED),1) $(ARGS)

bench: ## Speed, requests and memory; ARGS='-only 1x1000 -rounds 5' narrows; NODE=real adds containers that run
	@$(call campaign,bench) $(ARGS)

bench-short: ## The same with few pods: shows that it works, not how fast
	@$(call campaign,bench) -scale 0.05 -rounds 1 -only 'planner|1x1000|apply-storm|rollout' $(ARGS)

# Built first, so that an interrupt reaches the program itself and not the go command.
campaign = go build -o .bin/ ./hack/$(1) && exec .bin/$(1) -cluster $(TEST_CLUSTER)-$(1)

##@ Run it on this machine
.PHONY: cluster-up cluster-down node-deps run debug need-kubeconfig
cluster-up: ## Start the local cluster and say how to use it; CLUSTER=NAME for another, NODE=real adds a node on which containers run
	@hack/cluster/cluster.sh up $(CLUSTER)
	@echo 'To use it: eval "$$(hack/cluster/cluster.sh env $(CLUSTER))"'

cluster-down: ## Stop the local cluster and delete everything in it; CLUSTER=NAME for another
	@hack/cluster/cluster.sh down $(CLUSTER)

node-deps: ## Install what NODE=real needs: containerd, runc and CNI plugins; Debian and Ubuntu, as root
	@hack/cluster/node/deps.sh

run: need-kubeconfig ## Run the controller against a cluster: make run KUBECONFIG=FILE
	go run -buildvcs=false -ldflags '$(LDFLAGS)' ./cmd/controller -kubeconfig '$(KUBECONFIG)' $(ARGS)

debug: need-kubeconfig ## The same under the debugger delve, which waits for a client on port 2345
	@mkdir -p .bin
	@dlv=$$(hack/tool.sh dlv) && \
	echo "Connect with: $$dlv connect 127.0.0.1:2345  (or an IDE's remote Go debugger)" && \
	exec "$$dlv" debug ./cmd/controller --headless --listen=127.0.0.1:2345 --api-version=2 --accept-multiclient \
		--build-flags='-mod=vendor -buildvcs=false' --output .bin/controller-debug -- -kubeconfig '$(KUBECONFIG)' $(ARGS)

need-kubeconfig:
ifeq ($(KUBECONFIG),)
	@echo "KUBECONFIG is missing: say which cluster, for example" >&2
	@echo '  make $(firstword $(MAKECMDGOALS)) KUBECONFIG=$$HOME/.kube/config' >&2
	@echo '  make $(firstword $(MAKECMDGOALS)) KUBECONFIG="$$(hack/cluster/cluster.sh kubeconfig)"   after make cluster-up' >&2
	@exit 1
endif

##@ Build it
.PHONY: build plugin
build: ## Compile the programs into .bin/
	go build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)' -o .bin/ ./cmd/...

plugin: ## Build kubectl pm into .bin/ with its completion, and say how to use it
	go build -trimpath -buildvcs=false -ldflags '-s -w $(LDFLAGS)' -o .bin/kubectl-podmanager ./cmd/kubectl-podmanager
	@ln -sf kubectl-podmanager .bin/kubectl-pm
	@for name in podmanager pm; do \
		.bin/kubectl-$$name completion kubectl >.bin/kubectl_complete-$$name && chmod +x .bin/kubectl_complete-$$name; \
	done
	@echo 'To use it: export PATH="$(CURDIR)/.bin:$$PATH"    then: kubectl pm get'

##@ Install on a cluster (the current kubectl context)
.PHONY: install uninstall deploy undeploy
CRD := podmanagers.apps.mycompany.com
install: ## Install the CRD
	$(KUBECTL) apply -f artifacts/crd.yaml

# artifacts/policy.yaml refuses to delete a CRD without the annotation.
uninstall: ## Delete the CRD and with it all PodManagers; a controller has to run, because some PodManagers have finalizers
	@found=$$($(KUBECTL) get crd $(CRD) --ignore-not-found --output name); \
	if [ -z "$$found" ]; then echo 'There is no CRD $(CRD)'; exit; fi; \
	managers=$$($(KUBECTL) get $(CRD) --all-namespaces --ignore-not-found --output name | wc -l); \
	echo "Deleting the CRD $(CRD), and with it all PodManagers ($$managers) and their pods"; \
	$(KUBECTL) annotate crd $(CRD) --overwrite apps.mycompany.com/allow-deletion=true; \
	$(KUBECTL) delete crd $(CRD) --ignore-not-found --timeout=2m || \
		{ echo "PodManagers with a finalizer go only while a controller runs (make run, make deploy)" >&2; exit 1; }

# The image is replaced on the way to the cluster, so that no file in the tree changes.
deploy: ## Install the CRD and the controller: make deploy IMG=NAME:TAG
	$(KUBECTL) kustomize artifacts | \
		awk -v img='$(IMG)' '/^---/ {ours = 0} /^kind: Deployment/ {ours = 1} \
			ours && /^ +(- )?image: / {sub(/image: .*/, "image: " img)} {print}' | \
		$(KUBECTL) apply -f -

undeploy: ## Remove the controller; CRD and PodManagers stay (run uninstall first to remove them, too)
	$(KUBECTL) delete -f artifacts/policy.yaml -f artifacts/networkpolicy.yaml -f artifacts/deployment.yaml -f artifacts/rbac.yaml --ignore-not-found

##@ Container image
.PHONY: image image-push image-test docker-build docker-push
image: ## Build the image without Docker into .bin/image: OCI layout, a tar and an SBOM for each of PLATFORMS
	@mkdir -p $(IMAGE_DIR) && rm -rf $(IMAGE_DIR)/layout $(IMAGE_DIR)/linux $(IMAGE_DIR)/podmanager_*
	@for platform in $(PLATFORMS); do \
		echo "Compiling the controller for $$platform" >&2; \
		GOOS=$${platform%/*} GOARCH=$${platform#*/} $(PLAIN_GO) build -mod=vendor -trimpath -buildvcs=false \
			-ldflags "-s -w $(LDFLAGS)" -o $(IMAGE_DIR)/$$platform/controller ./cmd/controller; \
	done
	@"$$(hack/tool.sh image)" build -ref '$(IMG)' -out $(IMAGE_DIR) -version $(VERSION) -revision $(COMMIT) -created $(DATE) \
		$(PLATFORMS:%=$(IMAGE_DIR)/%/controller)

image-push: image ## Build and push it, SBOMs attached, with the credentials of docker login: make image-push IMG=NAME:TAG
	@"$$(hack/tool.sh image)" push -layout $(IMAGE_DIR)/layout -ref '$(IMG)'

image-test: ## Check that the image is the same every time, agrees with the Dockerfile, and can be pushed and pulled
	@$(MODULE_GO) -C hack/release/image test -trimpath -buildvcs=false -tags e2e -count 1 -timeout 30m -v ./... $(ARGS)

docker-build: ## Build the same image with Docker: IMG, VERSION and BASE_IMAGE may be given
	$(DOCKER) build --build-arg VERSION=$(VERSION) --build-arg COMMIT=$(COMMIT) --build-arg TREE=$(TREE) \
		--build-arg DATE=$(DATE) --build-arg BASE_IMAGE=$(BASE_IMAGE) --tag $(IMG) .

docker-push: ## Push what docker-build has built: IMG
	$(DOCKER) push $(IMG)

##@ Release
.PHONY: release release-verify release-test release-short bundle
release: ## Build all files of a release into .release/, the same bytes for everyone: make release VERSION=v0.2.0 SIGNING_KEY=KEY.pub
	@$(release) check -version '$(asked)' -ref '$(IMG)'
	@rm -rf .bin/release
	@$(MAKE) image IMAGE_DIR=.bin/release/image
	@for platform in $(PLUGIN_PLATFORMS); do \
		echo "Compiling the plugin for $$platform" >&2; \
		GOOS=$${platform%/*} GOARCH=$${platform#*/} $(PLAIN_GO) build -mod=vendor -trimpath -buildvcs=false \
			-ldflags "-s -w $(LDFLAGS)" -o .bin/release/plugin/$$platform/ ./cmd/kubectl-podmanager; \
	done
	@$(release) pack -version $(VERSION) -ref '$(IMG)' -commit $(COMMIT) -created $(DATE) -url '$(RELEASE_URL)' -work .bin/release \
		-out .release -helm "$$(hack/tool.sh helm)" -image-tool "$$(hack/tool.sh image)" \
		-attest-tool "$$(hack/tool.sh attest)" -key '$(SIGNING_KEY)' -signers '$(SIGNERS)'

# The keys that sign releases. Users get this file from the repository, not from the place from which they download the release.
SIGNERS ?= .github/allowed_signers
release-verify: ## Check signature, checksums and provenance of all files of a release: FOLDER=.release
	@"$$(hack/tool.sh attest)" verify -folder '$(or $(FOLDER),.release)' -signers '$(SIGNERS)'

release = $(PLAIN_GO) run -mod=vendor -trimpath -buildvcs=false ./hack/release

release-test: ## Build a whole release twice and compare, install it with the real Helm and krew, check the bundle with OLM's validator
	@$(release-tests) $(ARGS) -args -all

release-short: ## The same with one platform (linux/amd64) of image and plugin
	@$(release-tests) $(ARGS)

release-tests = go test -tags e2e -count 1 -timeout 60m -run '^TestE2E' -v ./hack/release

bundle: ## Make a bundle for OLM into .release/bundle, after make release: VERSION, IMG, and REPLACES=v0.1.0 for the previous bundle
	@$(release) bundle -version $(VERSION) -ref '$(IMG)' -created $(DATE) -layout .bin/release/image/layout -platforms '$(PLATFORMS)' $(if $(REPLACES),-replaces $(REPLACES)) \
		-out .release/bundle
