package host

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	commandpb "go.temporal.io/api/command/v1"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// lostAttributes are search attributes that were removed from the namespace while workflows had them.
// The server refuses a workflow task that sets one, and would again for good: they are left out of what
// this worker sends. Nothing but a list of agents reads them, and a replay does not compare them.
type lostAttributes struct {
	mu sync.Mutex
	// since is when each was refused last.
	since map[string]time.Time
}

// refusedFor is how long an attribute is left out before the server is asked again, for it may be back.
const refusedFor = 5 * time.Minute

// leaveOut is a gRPC interceptor: of the SDK's own layers none knows that a task is refused.
func (l *lostAttributes) leaveOut(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker, options ...grpc.CallOption) error {
	task, ok := request.(*workflowservice.RespondWorkflowTaskCompletedRequest)
	if !ok {
		return call(ctx, method, request, reply, conn, options...)
	}
	err := call(ctx, method, l.without(task), reply, conn, options...)
	if err != nil && strings.Contains(err.Error(), "BadSearchAttributes") {
		l.learn(task, err.Error(), time.Now())
	}
	return err
}

// learn notes the attributes of a task that the server's refusal names; all of them where it names none, but the one
// by which the SDK finds versions again: the server has it always.
func (l *lostAttributes) learn(task *workflowservice.RespondWorkflowTaskCompletedRequest, refusal string, now time.Time) {
	var set []string
	for _, command := range task.GetCommands() {
		set = slices.AppendSeq(set, maps.Keys(attributesOf(command).GetIndexedFields()))
	}
	set = slices.DeleteFunc(set, func(name string) bool { return name == "TemporalChangeVersion" })
	named := slices.DeleteFunc(slices.Clone(set), func(name string) bool {
		return !slices.Contains(strings.Fields(refusal), name)
	})
	if len(named) == 0 {
		named = set
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.since == nil {
		l.since = map[string]time.Time{}
	}
	for _, name := range named {
		l.since[name] = now
	}
}

// without is the task without what is lost, which may be the task itself.
func (l *lostAttributes) without(task *workflowservice.RespondWorkflowTaskCompletedRequest) *workflowservice.RespondWorkflowTaskCompletedRequest {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.since, func(_ string, since time.Time) bool { return time.Since(since) > refusedFor })
	if len(l.since) == 0 {
		return task
	}
	own := proto.CloneOf(task)
	for _, command := range own.GetCommands() {
		fields := attributesOf(command).GetIndexedFields()
		had := len(fields)
		maps.DeleteFunc(fields, func(name string, _ *commonpb.Payload) bool {
			_, lost := l.since[name]
			return lost
		})
		if len(fields) == 0 && had > 0 && command.GetUpsertWorkflowSearchAttributesCommandAttributes() != nil {
			fields[neverSet] = &commonpb.Payload{Metadata: map[string][]byte{converter.MetadataEncoding: []byte(converter.MetadataEncodingNil), "type": []byte("Keyword")}}
		}
	}
	return own
}

// neverSet is an attribute of every server that agents never have. A command that sets nothing is refused
// too, and one that is left out would be missed by a replay: this one is unset in its place.
const neverSet = "BatcherUser"

// attributesOf are those that a command sets, nil where it sets none.
func attributesOf(command *commandpb.Command) *commonpb.SearchAttributes {
	if upsert := command.GetUpsertWorkflowSearchAttributesCommandAttributes(); upsert != nil {
		return upsert.GetSearchAttributes()
	}
	return command.GetContinueAsNewWorkflowExecutionCommandAttributes().GetSearchAttributes()
}
