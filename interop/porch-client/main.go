// A client of the function runner that is built from Porch's own generated code,
// the way Porch calls it. It prints one JSON object per call, for a test to judge.
//
//	porch-client ADDRESS call IMAGE FILE [TAG]  evaluate IMAGE on the list in FILE; with the TAG of
//	                                            Porch 1.6, and a field that is newer still
//	porch-client ADDRESS health [SERVICE]       ask for health
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/nephio-project/porch/func/evaluator"
	// Registers the details that a status may carry.
	_ "google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
)

// The default of Porch's --function-runner-grpc-max-message-size.
const maxMessageSize = 6 * 1024 * 1024

type answer struct {
	Code         string   `json:"code"`
	Message      string   `json:"message"`
	Details      []string `json:"details"`
	ResourceList string   `json:"resource_list"`
	Log          string   `json:"log"`
	Seconds      float64  `json:"seconds"`
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "porch-client:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("expected ADDRESS and call or health")
	}
	conn, err := grpc.NewClient(args[0],
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(maxMessageSize),
			grpc.MaxCallSendMsgSize(2*maxMessageSize)))
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()

	begin := time.Now()
	var told answer
	switch {
	case args[1] == "call" && (len(args) == 4 || len(args) == 5):
		told, err = call(ctx, conn, args[2], args[3], args[4:])
	case args[1] == "health":
		told, err = health(ctx, conn, args[2:])
	default:
		err = fmt.Errorf("cannot understand %q", args)
	}
	if err != nil {
		return err
	}
	told.Seconds = time.Since(begin).Seconds()
	return json.NewEncoder(os.Stdout).Encode(told)
}

func call(ctx context.Context, conn *grpc.ClientConn, image, file string, tag []string) (answer, error) {
	list, err := os.ReadFile(file)
	if err != nil {
		return answer{}, err
	}
	client := evaluator.NewFunctionEvaluatorClient(conn)
	request := &evaluator.EvaluateFunctionRequest{ResourceList: list, Image: image}
	if len(tag) > 0 {
		// This Porch's code does not know the fields: they travel by their numbers.
		request.ProtoReflect().SetUnknown(append(field(tagField, tag[0]), field(newerField, "/bin/x")...))
	}
	response, err := client.EvaluateFunction(ctx, request)
	told := asAnswer(err)
	told.ResourceList = string(response.GetResourceList())
	told.Log = string(response.GetLog())
	return told, nil
}

// Numbers of fields in EvaluateFunctionRequest: the tag of 1.6, and one that nobody knows yet.
const (
	tagField   = 3
	newerField = 4
)

func field(number protowire.Number, text string) []byte {
	return protowire.AppendString(protowire.AppendTag(nil, number, protowire.BytesType), text)
}

func health(ctx context.Context, conn *grpc.ClientConn, service []string) (answer, error) {
	request := &healthpb.HealthCheckRequest{}
	if len(service) > 0 {
		request.Service = service[0]
	}
	response, err := healthpb.NewHealthClient(conn).Check(ctx, request)
	told := asAnswer(err)
	told.Log = response.GetStatus().String()
	return told, nil
}

func asAnswer(err error) answer {
	told := answer{Code: status.Code(err).String(), Message: status.Convert(err).Message()}
	for _, detail := range status.Convert(err).Details() {
		told.Details = append(told.Details, fmt.Sprintf("%T %v", detail, detail))
	}
	return told
}
