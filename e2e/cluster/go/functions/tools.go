//go:build tools

// Package tools names the commands that the test node is built from, so that go.mod pins them.
package tools

import (
	_ "github.com/kptdev/krm-functions-catalog/functions/go/apply-replacements"
	_ "github.com/kptdev/krm-functions-catalog/functions/go/set-namespace"
	_ "github.com/kptdev/krm-functions-catalog/functions/go/starlark"
)
