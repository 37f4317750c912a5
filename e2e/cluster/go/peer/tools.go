//go:build tools

// Package tools names the commands that the test node is built from, so that go.mod pins them.
package tools

import (
	_ "github.com/grpc-ecosystem/grpc-health-probe"
	_ "github.com/nephio-project/porch/func/server"
	_ "github.com/nephio-project/porch/func/wrapper-server"
)
