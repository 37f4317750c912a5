# Two commands to begin with: `make run` and `make test`. `make help` lists all.

HOST := $(shell rustc -vV | sed -n 's/^host: //p')

.PHONY: help
help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | column -t -s '|'

.PHONY: run
run: build-debug ## Start the runner here, without a cluster, with the bundled functions
	@echo 'In another shell: target/debug/function-runner eval --address localhost:9445 --image set-namespace:v0.4.5 examples/package -- namespace=production'
	@echo 'What it does: http://localhost:9464/ (or target/debug/function-runner status --watch)'
	target/debug/function-runner --disable-runtimes=pod

.PHONY: demo
demo: build-debug ## Start the runner, send a package through three functions, show what they changed
	examples/demo

.PHONY: build-debug
build-debug:
	cargo build --package runner

.PHONY: build
build: build-wrapper build-starlark build-runner ## Build the release binaries into target/release: function-runner, starlark-function, wrapper-server

# `+`: with `make --jobs` these share the processors, and one links on one of them while others compile on the rest.
.PHONY: build-runner
build-runner:
	+cargo build --release --locked --package runner

# What `make test` runs later, compiled beside `make build` and not one by one. The same words as there: others choose other
# features, and would compile it once more. The optimised part uses the same folder as the runner, and waits for it.
.PHONY: build-tests
build-tests: build-tests-debug build-tests-release

.PHONY: build-tests-release
build-tests-release: build-runner build-starlark
	+cargo test --release --locked --manifest-path starlark-function/Cargo.toml --no-run
	+cargo test --release --locked --package functions --test deadlines --test bounds --no-run
	+cargo build --release --locked --package functions --example conformance
	+cargo build --release --locked --package instructions
	+cargo build --release --locked --package differential

.PHONY: build-tests-debug
build-tests-debug:
	+cargo test --locked --no-run
	+cargo test --locked --package interop --no-run
	+cargo test --locked --package e2e --package cluster --no-run

# Leaves a program alone that is there already: somebody may be about to start it.
put = cmp --quiet $(1) $(2) || install -D $(1) $(2)

# A workspace of its own: see starlark-function/Cargo.toml.
.PHONY: build-starlark
build-starlark:
	+cargo build --release --locked --manifest-path starlark-function/Cargo.toml
	@$(call put,starlark-function/target/release/starlark-function,target/release/starlark-function)

.PHONY: build-wrapper
build-wrapper:
	+RUSTFLAGS='-C target-feature=+crt-static' cargo build --profile wrapper --locked --target $(HOST) --package wrapper-server
	@$(call put,target/$(HOST)/wrapper/wrapper-server,target/release/wrapper-server)

.PHONY: images
images: build ## Build both container images into target/images, without an engine (TAG=… PUSH=registry/folder)
	cargo run --quiet --locked --package images -- --tag '$(TAG)' --push '$(PUSH)' -- $(SKOPEO_FLAGS)

.PHONY: test
test: ## Run every test there is; says what it had to leave out
	scripts/test-all

.PHONY: quick
quick: ## Run the quick tests, which need nothing but a compiler
	cargo test

.PHONY: format
format: ## Check formatting, and that no file has grown over 400 lines
	@git ls-files -co --exclude-standard '*.rs' | xargs wc -l | awk '$$2 != "total" && $$1 > 400 { print "too long:", $$0; long = 1 } END { exit long }'
	cargo fmt --all --check
	cargo fmt --manifest-path starlark-function/Cargo.toml --check
	cargo fmt --manifest-path fuzz/Cargo.toml --check

.PHONY: lint
lint: format ## The same, and lints of all three workspaces
	cargo clippy --workspace --all-targets --all-features --locked -- -D warnings
	cargo clippy --manifest-path starlark-function/Cargo.toml --all-targets --locked -- -D warnings
	cargo clippy --manifest-path fuzz/Cargo.toml --all-targets --locked -- -D warnings

.PHONY: unused
unused: ## Find `pub` items that no other crate uses, and unused dependencies (needs Python)
	scripts/unused

.PHONY: check-wrapper
check-wrapper: build-wrapper ## Check what is promised of the wrapper's binary
	scripts/check-wrapper target/release/wrapper-server

.PHONY: interop
interop: ## Test against Porch's own client, the real grpc-health-probe and the OpenTelemetry Collector (needs Go)
	cargo test --locked --package interop

GOLDEN ?= crates/functions/tests/cases

.PHONY: conformance
conformance: build-starlark ## Compare the bundled functions with the real ones' output (GOLDEN=DIR, CONFORMANCE="--only NAME --show 9 --bytes 99.5")
	STARLARK_FUNCTION=target/release/starlark-function cargo run --quiet --release --locked --package functions --example conformance -- $(GOLDEN) $(CONFORMANCE)

SECONDS ?= 120

.PHONY: differential
differential: build-starlark ## Compare the bundled functions with the Go functions on generated lists (needs Go; SECONDS=120, DIFFERENTIAL="--only NAME --seed N")
	cargo run --quiet --release --locked --package differential -- --seconds $(SECONDS) $(DIFFERENTIAL)

.PHONY: confined
confined: build-starlark ## Compare the Go functions with themselves, confined as the exec runtime does it (needs Go; GOLDEN="DIR …")
	cargo run --quiet --release --locked --package differential -- $(addprefix --confined ,$(GOLDEN))

.PHONY: fuzz
fuzz: ## Run every fuzz target for a while (SECONDS_EACH=20)
	fuzz/run

.PHONY: bench-check
bench-check: ## Count instructions of hot code; fails if one workload has grown by over 10 % (needs valgrind)
	scripts/bench-check || [ $$? = 77 ] # not compared, and said

.PHONY: deny
deny: ## Check the dependencies of all lock files: licences, bans, sources, and advisories if they can be had
	scripts/deny || [ $$? = 77 ] # no advisories, and said

# A real Kubernetes node: docs/testing.md. It needs root.
CLUSTER = cargo run --quiet --package cluster --

.PHONY: cluster
cluster: ## Bring up a real Kubernetes node, and say how to use it
	$(CLUSTER) up

.PHONY: cluster-status
cluster-status: ## Show what runs of it
	$(CLUSTER) status

.PHONY: cluster-down
cluster-down: ## Remove every trace of it
	$(CLUSTER) down

.PHONY: cluster-clean
cluster-clean: ## The same, and remove the programs that were built for it
	$(CLUSTER) clean

# Most tests wait for the node most of the time, so more of them at once than processors.
NODE_TESTS_AT_ONCE ?= 4

# Built outside and run inside a fresh node; then the node's own coming and going. The tests' compilation makes the node's
# program: built by itself, it would need other features of its dependencies, and compile them once more.
NODE = target/debug/cluster

.PHONY: e2e
e2e: build ## Test on a real Kubernetes node (needs root, Go and Debian's packages)
	$(MAKE) node-programs
	$(MAKE) node-tests
	$(MAKE) node-lifecycle

.PHONY: node-programs
node-programs:
	cargo test --locked --package e2e --package cluster --no-run
	$(NODE) peer
	$(NODE) registry
	cd interop/collector && CGO_ENABLED=0 go build -mod=readonly -o ../../target/debug/interop/collector .
	scripts/browser-packages
	$(NODE) up

# The images need a package that the node installs.
.PHONY: node-tests
node-tests:
	$(NODE) down
	$(NODE) up
	$(MAKE) images
	$(NODE) exec -- env RUST_TEST_THREADS=$(NODE_TESTS_AT_ONCE) cargo test --offline --locked --package e2e

# They compare the machine before and after a node: no other one may come or go meanwhile.
.PHONY: node-lifecycle
node-lifecycle:
	cargo test --locked --package cluster

# The node may be there already.
MINUTES ?= 60

.PHONY: soak
soak: build ## Mixed load under random faults on a real node: nothing lost, stuck or left over (MINUTES=60 SEED=n repeats one)
	cargo test --locked --package e2e --package cluster --no-run
	$(NODE) up
	$(NODE) exec -- target/debug/soak --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))

# The same holds for its program. Needs valgrind.
.PHONY: scale
scale: build-runner ## Measure what a thousand functions cost on a real API server with simulated nodes (SCALE=--small: 80 pods)
	cargo test --locked --package e2e --package cluster --no-run
	$(NODE) kwok
	$(NODE) up
	$(NODE) exec -- target/debug/scale $(SCALE)

# Optimised, as it is deployed.
.PHONY: bench-bundled
bench-bundled: build-runner build-starlark ## Measure the bundled functions beside the Go functions, into docs/performance.md (needs Go, no node; QUICK=1: only print)
	cargo build --release --locked --package bench
	target/release/bench bundled

# The node may be there already. Before it there are the bundled functions: those need the peer at most.
.PHONY: bench
bench: build-wrapper build-runner ## Measure beside Porch's own runner on a real node, into docs/performance.md (QUICK=1: only print); fails if a bar is missed in every round
	$(CLUSTER) peer
	$(MAKE) bench-bundled
	$(CLUSTER) up
	$(CLUSTER) exec -- target/release/bench
