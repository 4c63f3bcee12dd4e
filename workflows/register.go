package workflows

import (
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/hook"
)

// Options are what a worker adds to the workflow. Nothing of it may change what
// an execution under way does: hooks are found by the version that it recorded,
// and what is emitted never comes back.
type Options struct {
	// Hooks are those that executions of this worker may use.
	Hooks hook.Set
	// Emit takes each event as it happens, except on replay. It is called from
	// inside the workflow: it may not wait, fail or call back. Nil: nobody listens.
	Emit func(domain.Event)
}

// Register makes a worker run agents.
func Register(registry worker.WorkflowRegistry, options Options) {
	registry.RegisterWorkflowWithOptions(options.execute, workflow.RegisterOptions{Name: string(domain.Execute)})
}

// Execute is the workflow with no hooks and no listeners.
func Execute(ctx workflow.Context, in domain.SessionInput) (domain.Outcome, error) {
	return Options{}.execute(ctx, in)
}
