//go:build tools

// Package tools names the function that this folder pins.
package tools

import (
	_ "github.com/kptdev/krm-functions-catalog/functions/go/search-replace"
)
