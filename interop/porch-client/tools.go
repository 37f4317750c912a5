//go:build tools

// Keeps the real grpc-health-probe among the module's requirements.
package main

import _ "github.com/grpc-ecosystem/grpc-health-probe"
