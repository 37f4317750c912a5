//go:build tools

// Package tools names the command that simulated nodes come from, so that go.mod pins it.
package tools

import (
	_ "sigs.k8s.io/kwok/cmd/kwok"
)
