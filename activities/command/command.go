// Package command sends an agent's workflow what somebody asks of it, and reads what that says. Its one rule: it asks once;
// whoever calls it decides whether to ask again, under the same id.
package command

import (
	"context"
	"errors"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/grpc/codes"

	"everstep/domain"
	"everstep/domain/contract"
)

// Send sends a command to the newest run of a workflow, and waits for the answer. Under one id a run does it once.
func Send[In, Out any](ctx context.Context, c client.Client, workflowID, id string, name contract.Update[In, Out], in In) (out Out, err error) {
	handle, err := c.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		UpdateID: id, WorkflowID: workflowID, UpdateName: string(name), Args: []any{in}, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err == nil {
		err = handle.Get(ctx, &out)
	}
	return out, err
}

// Closed reports whether a command met a workflow that has ended, or never was.
func Closed(err error) bool {
	if serviceerror.ToStatus(err).Code() == codes.NotFound {
		return true
	}
	refusal, ok := errors.AsType[*temporal.ApplicationError](err)
	return ok && refusal.Type() == "AcceptedUpdateCompletedWorkflow"
}

// Refusal finds what the workflow itself said, where err comes from it.
func Refusal(err error) (*domain.Error, bool) {
	if own, ok := errors.AsType[*domain.Error](err); ok {
		return own, true
	}
	application, ok := errors.AsType[*temporal.ApplicationError](err)
	if !ok {
		return nil, false
	}
	var refusal domain.Error
	if application.HasDetails() && application.Details(&refusal) == nil && refusal.Message != "" {
		return &refusal, true
	}
	var kind domain.Kind
	if kind.UnmarshalText([]byte(application.Type())) != nil {
		return nil, false
	}
	return domain.Errorf(kind, "%s", application.Message()), true
}
