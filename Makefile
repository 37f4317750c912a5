# Tests on a real Kubernetes node (docs/testing.md). They need root.
CLUSTER = cargo run --quiet --package cluster --

.PHONY: cluster cluster-down cluster-status cluster-clean e2e

cluster:
	$(CLUSTER) up

cluster-down:
	$(CLUSTER) down

cluster-status:
	$(CLUSTER) status

cluster-clean:
	$(CLUSTER) clean

# The tests are built outside and run inside a fresh node; then the node's own coming and going.
e2e:
	cargo test --package e2e --package cluster --no-run
	$(CLUSTER) down
	$(CLUSTER) up
	$(CLUSTER) exec -- cargo test --offline --package e2e
	cargo test --package cluster
