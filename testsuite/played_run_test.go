package testsuite

import (
	"slices"
	"testing"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"everstep/activities"
	"everstep/activities/inference"
	"everstep/activities/transcript"
	"everstep/domain"
	"everstep/domain/hook"
	"everstep/workflows"
)

// RunPlayed runs an agent in memory as Env.Run does, in real time and with a
// model of a real provider: the one that the definition names, which may speak
// to a server of the test's. The waits between attempts are skipped.
func RunPlayed(t *testing.T, config Config, provider inference.Provider, prompt string, events ...Event) Run {
	t.Helper()
	hooks, err := hook.NewSet(config.Hooks...)
	if err != nil {
		t.Fatalf("testsuite: Hooks: %v", err)
	}
	e := &Env{t: t, config: config, definition: config.Definition, tools: slices.Clone(config.Tools), hooks: hooks}
	for _, added := range e.tools {
		e.definition.Tools = append(e.definition.Tools, added.Spec().Name)
	}
	run, err := e.played(provider, prompt, events)
	if err != nil {
		t.Fatalf("testsuite: %v", err)
	}
	return run
}

func (e *Env) played(provider inference.Provider, prompt string, events []Event) (Run, error) {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(silent{})
	s := &stage{env: suite.NewTestWorkflowEnvironment()}
	bridge := newBridge()
	acts, err := activities.New(activities.Config{
		Providers:   map[string]inference.Provider{e.definition.Model.Provider: provider},
		Tools:       e.tools,
		Transcripts: &transcript.Source{Cache: bridge.cache, Client: nobody{}},
		Hooks:       e.hooks,
	})
	if err != nil {
		return Run{}, err
	}
	// In real time a busy machine must not look like a deadlock.
	s.env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{bridge}, DeadlockDetectionTimeout: realPatience})
	s.env.SetTestTimeout(realPatience)
	workflows.Register(s.env, workflows.Options{Hooks: e.hooks, Emit: s.hear})
	acts.Register(s.env)
	in, err := e.input(prompt, events)
	if err != nil {
		return Run{}, err
	}
	s.schedule(events, in.Name != "")
	s.env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: in.WorkflowID()})
	s.env.ExecuteWorkflow(string(domain.Execute), in)
	if err := s.wrong(); err != nil {
		return Run{}, err
	}
	run, err := s.read()
	run.Heard = s.heard
	return run, err
}
