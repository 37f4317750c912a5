module function-runner/interop/porch-client

go 1.25.7

require (
	github.com/grpc-ecosystem/grpc-health-probe v0.4.11
	github.com/nephio-project/porch v1.5.8
	google.golang.org/genproto/googleapis/rpc v0.0.0-20251202230838-ff82c1b0f217
	google.golang.org/grpc v1.79.3
	google.golang.org/protobuf v1.36.10
)

require (
	github.com/Microsoft/go-winio v0.6.2 // indirect
	github.com/go-jose/go-jose/v4 v4.1.3 // indirect
	github.com/spiffe/go-spiffe/v2 v2.6.0 // indirect
	golang.org/x/net v0.48.0 // indirect
	golang.org/x/sync v0.19.0 // indirect
	golang.org/x/sys v0.40.0 // indirect
	golang.org/x/text v0.32.0 // indirect
)

replace github.com/kptdev/kpt => github.com/kptdev/kpt v1.0.0-beta.61
