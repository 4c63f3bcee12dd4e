package workflows

import (
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"everstep/domain"
)

// Register makes a worker run agents.
func Register(registry worker.WorkflowRegistry) {
	registry.RegisterWorkflowWithOptions(Execute, workflow.RegisterOptions{Name: string(domain.Execute)})
}
