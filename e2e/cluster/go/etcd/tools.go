//go:build tools

// Package tools names the commands that the test node is built from, so that go.mod pins them.
package tools

import (
	_ "go.etcd.io/etcd/server/v3"
)
