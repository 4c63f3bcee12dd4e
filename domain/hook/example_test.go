package hook_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/hook"
)

// A hook is registered on the worker, and runs there inside the loop. The
// examples run each on a context such as the loop would give it, and print what
// the hook made of it.

// The agent is told what day it is, once, when an execution begins.
func ExampleBeforeExecution() {
	today := hook.BeforeExecution("today", func(c hook.Point) (hook.Point, error) {
		prompt := c.State.SystemPrompt + "\nToday is " + c.Now.Format("Monday, 2 January 2006") + "."
		c.State = c.State.WithSystemPrompt(prompt, c.Now)
		return c, nil
	})

	c, err := hook.Run(today, point(domain.TriggerBeforeExecution))
	fmt.Println(c.State.SystemPrompt, err)
	// Output:
	// You tidy up repositories.
	// Today is Friday, 2 January 2026. <nil>
}

// The model is told to come to an end when few steps are left, and an execution
// that runs into the weekend is stopped. A stop here leaves no step behind.
func ExampleBeforeStep() {
	pace := hook.BeforeStep("pace", func(c hook.Point) (hook.Point, error) {
		if c.Now.Weekday() == time.Saturday {
			return c.Stop("nothing is changed on Saturdays"), nil
		}
		left, _ := c.State.BudgetLeft(c.Now)
		if left.MaxSteps != nil && *left.MaxSteps == 2 {
			c = c.Say(domain.RoleUser, "Two steps are left. Finish what you have begun.")
		}
		return c, nil
	})

	c, _ := hook.Run(pace, point(domain.TriggerBeforeStep))
	fmt.Println(c.State.Messages()[1].Text())

	c = point(domain.TriggerBeforeStep)
	c.Now = c.Now.AddDate(0, 0, 1)
	c, _ = hook.Run(pace, c)
	fmt.Println(c.Stops()[0].Reason, "-", c.Stops()[0].Message)
	// Output:
	// Two steps are left. Finish what you have begun.
	// stop_requested - nothing is changed on Saturdays
}

// The first step is for a short plan: no tools are offered.
func ExampleBeforeInference() {
	planFirst := hook.BeforeInference("plan-first", func(c hook.Inference) (hook.Inference, error) {
		if c.State.StepCount() == 0 {
			c.At.WithoutTools = true
			c.At.MaxOutputTokens = 500
		}
		return c, nil
	})

	c, err := hook.Run(planFirst, hook.Inference{Trigger: domain.TriggerBeforeInference, State: begun()})
	fmt.Printf("%+v %v\n", c.At, err)
	// Output:
	// {WithoutTools:true MaxOutputTokens:500} <nil>
}

// A key that the model repeats never joins the conversation. What the hook is
// given is not its own: it copies the parts before it changes one.
func ExampleAfterInference() {
	redact := hook.AfterInference("redact", func(c hook.Reply) (hook.Reply, error) {
		parts := slices.Clone(c.At.Message.Parts)
		for i := range parts {
			parts[i].Text = strings.ReplaceAll(parts[i].Text, "hunter2", "[redacted]")
		}
		c.At.Message.Parts = parts
		return c, nil
	})

	answer := domain.Message{Role: domain.RoleAssistant, Parts: []domain.Part{{Type: domain.PartText, Text: "I logged in with hunter2."}}}
	c, err := hook.Run(redact, hook.Reply{Trigger: domain.TriggerAfterInference, State: begun(), At: hook.Answer{Message: answer}})
	fmt.Println(c.At.Message.Text(), err)
	// Output:
	// I logged in with [redacted]. <nil>
}

// Calls that touch the repository's own files are forbidden, and others run
// with a bound that the model has not thought of. The model reads why.
func ExampleBeforeToolUse() {
	careful := hook.BeforeToolUse("careful", func(c hook.ToolUse) (hook.ToolUse, error) {
		if strings.Contains(c.At.Call.Arguments, ".git/") {
			return hook.Block(c, "Files below .git are off limits. Use the git tool."), nil
		}
		if c.At.Call.Name == "search" && c.At.Call.Arguments == `{"text":"TODO"}` {
			c.At.Call.Arguments = `{"text":"TODO","limit":50}`
		}
		return c, nil
	})

	for _, call := range []domain.ToolCall{
		{Name: "write_file", Arguments: `{"path":".git/config"}`},
		{Name: "search", Arguments: `{"text":"TODO"}`},
	} {
		c, err := hook.Run(careful, hook.ToolUse{Trigger: domain.TriggerBeforeToolUse, State: begun(), At: hook.Call{Call: call}})
		message, blocked := c.At.Blocked()
		fmt.Println(blocked, message, c.At.Call.Arguments, err)
	}
	// Output:
	// true Files below .git are off limits. Use the git tool. {"path":".git/config"} <nil>
	// false  {"text":"TODO","limit":50} <nil>
}

// Long results are cut before the model reads them, and once something was
// deployed, nothing more is done.
func ExampleAfterToolUse() {
	const longest = 24
	short := hook.AfterToolUse("short-results", func(c hook.ToolResult) (hook.ToolResult, error) {
		if text := c.At.Execution.Value; len(text) > longest {
			c.At.Execution.Value = fmt.Sprintf("%s… (%d bytes more)", domain.Shorten(text, longest), len(text)-longest)
		}
		if c.At.Execution.Call.Name == "deploy" && c.At.Execution.Error == nil {
			c = c.Stop("it is deployed")
		}
		return c, nil
	})

	made := domain.ToolExecution{Call: domain.ToolCall{Name: "deploy"}, Value: "version 1.4.2 is live in all regions"}
	c, err := hook.Run(short, hook.ToolResult{Trigger: domain.TriggerAfterToolUse, State: begun(), At: hook.Result{Execution: made}})
	fmt.Println(c.At.Execution.Value, err)
	fmt.Println(c.Stops()[0].Message)
	// Output:
	// version 1.4.2 is live in… (12 bytes more) <nil>
	// it is deployed
}

// The model may not answer before it has run the tests: the loop is asked to go
// on where it would end. Beside an error, a limit or a user's stop that has no
// effect, and max_steps ends an agent that never obeys.
func ExampleAfterStep() {
	tested := hook.AfterStep("tested", func(c hook.Point) (hook.Point, error) {
		step, ok := c.State.CurrentStepOrLast()
		if !ok || step.AsksForTools() {
			return c, nil // it goes on by itself
		}
		if c.State.ToolCounts()["run_tests"].Ran > 0 { // also of steps that are no longer among Steps
			return c, nil
		}
		return c.Say(domain.RoleUser, "Run the tests before you answer.").Continue(), nil
	})

	c := point(domain.TriggerAfterStep)
	id := c.State.Execution
	c.State, _ = c.State.WithStepStarted(id.ID.Step(1), c.Now) // the step that answers
	c, err := hook.Run(tested, c)
	fmt.Println(c.Continues(), c.State.Messages()[1].Text(), err)
	// Output:
	// true Run the tests before you answer. <nil>
}

// What went wrong is noted where the next execution finds it.
func ExampleOnError() {
	remember := hook.OnError("remember", func(c hook.Error) (hook.Error, error) {
		return c.Note("last_failure", map[string]string{
			"code": string(c.At.Error.Code), "source": c.At.Error.Source, "at": c.Now.Format(time.RFC3339),
		})
	})

	failure := hook.Failure{Error: *domain.CodedErrorf(domain.Denied, domain.CodeQuota, "no money left").From("openai-chat")}
	c, err := hook.Run(remember, hook.Error{Trigger: domain.TriggerOnError, Now: friday, State: begun(), At: failure})
	fmt.Println(string(c.State.Metadata["last_failure"]), err)
	// Output:
	// {"at":"2026-01-02T12:00:00Z","code":"quota","source":"openai-chat"} <nil>
}

// When the loop is over, whoever reads the conversation finds a line that says
// why.
func ExampleOnStop() {
	sign := hook.OnStop("sign-off", func(c hook.Point) (hook.Point, error) {
		reason, ok := c.State.StopReason()
		if !ok {
			reason = domain.Completed
		}
		return c.Say(domain.RoleUser, fmt.Sprintf("(ended after %d steps: %s)", c.State.StepCount(), reason)), nil
	})

	c := point(domain.TriggerOnStop)
	c.State, _ = c.State.WithStopSignal(domain.StopSignal{Reason: domain.UserRequested}, c.Now)
	c, err := hook.Run(sign, c)
	fmt.Println(c.State.Messages()[1].Text(), err)
	// Output:
	// (ended after 0 steps: user_requested) <nil>
}

// A tally over all executions of the agent is kept in its metadata.
func ExampleAfterExecution() {
	tally := hook.AfterExecution("tally", func(c hook.Point) (hook.Point, error) {
		sum := c.State.ExecutionDuration(c.Now)
		if before, ok := c.State.Metadata["time_spent"]; ok {
			earlier, err := time.ParseDuration(strings.Trim(string(before), `"`))
			if err != nil {
				return c, fmt.Errorf("time_spent: %w", err) // fails the execution, with this text
			}
			sum += earlier
		}
		return c.Note("time_spent", sum.String())
	})

	c := point(domain.TriggerAfterExecution)
	c, _ = hook.Run(tally, c)
	c, err := hook.Run(tally, c)
	fmt.Println(string(c.State.Metadata["time_spent"]), err)
	// Output:
	// "2m0s" <nil>
}

// What has to wait or to touch the world is an activity. It gets a request in
// place of a context, and says in its reply what it wants done.
func ExampleIO() {
	onCall := func(ctx context.Context) (string, error) { return "Ada", ctx.Err() } // asks some service
	approve := hook.IO(domain.TriggerBeforeToolUse, "approve", func(ctx context.Context, r contract.HookRequest) (contract.HookReply, error) {
		if r.Call.Name != "deploy" {
			return contract.HookReply{}, nil
		}
		who, err := onCall(ctx)
		if err != nil {
			return contract.HookReply{}, err // tried again, Attempts times in all
		}
		return contract.HookReply{Block: who + " has to deploy that."}, nil
	})
	approve.Timeout, approve.Attempts = 10*time.Second, 3

	reply, err := approve.Activity()(context.Background(), contract.HookRequest{Call: &domain.ToolCall{Name: "deploy"}})
	fmt.Println(reply.Block, err)
	// Output:
	// Ada has to deploy that. <nil>
}

// An agent has the hooks that its definition lists, and those for all agents.
func ExampleNewSet() {
	pass := func(c hook.Point) (hook.Point, error) { return c, nil }
	audit := hook.OnStop("audit", pass)
	audit.Always, audit.Priority = true, 10

	set, err := hook.NewSet(hook.BeforeStep("pace", pass), hook.BeforeStep("other", pass), audit)
	fmt.Println(err)
	specs, _ := set.Resolve([]string{"pace"}) // what the definition lists
	for _, spec := range specs {
		fmt.Println(spec.Name, spec.Trigger)
	}
	_, err = set.Resolve([]string{"peace"})
	fmt.Println(err)
	// Output:
	// <nil>
	// audit on_stop
	// pace before_step
	// hooks: this worker has no peace; it has: pace, other, audit
}

var friday = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// begun is the state of an agent whose execution began a minute ago, with a
// budget of two steps.
func begun() domain.AgentState {
	agent := domain.AgentID{UUID: uuid.MustParse("4526f792-a438-5054-b7fb-4fcbcd7db4c0")}
	execution := agent.Execution("0195f0c2-6a5e-7c11-8f0a-2b1c3d4e5f60", 1)
	began := friday.Add(-time.Minute)
	s := domain.NewAgentState(agent, domain.AgentID{}, began, domain.LLMConfig{Provider: "scripted", Model: "plan.yaml"})
	s = s.WithSystemPrompt("You tidy up repositories.", began).WithUserMessage(execution.Prompt(), "Tidy up.", began)
	s, err := s.BeginExecution(execution, domain.ExecutionBudget{MaxSteps: new(int64(2))}, began)
	if err != nil {
		panic(err)
	}
	return s
}

// point is the context of a hook about the execution or the step alone.
func point(trigger domain.Trigger) hook.Point {
	return hook.Point{Trigger: trigger, Now: friday, State: begun()}
}
