//go:build tools

// Package cosign pins the program that signs images for tests.
package cosign

import _ "github.com/sigstore/cosign/v2/cmd/cosign"
