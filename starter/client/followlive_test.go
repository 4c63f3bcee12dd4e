package client

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
)

// toldAttempt is what an event tells of an attempt.
type toldAttempt struct {
	Type           domain.EventType
	Attempt        int
	Text           string
	Skipped, Shown int
}

// A scene is what a follower of nora's first execution hears of step 1, in order: recorded events, and pending inferences.
type scene struct {
	f    follower
	told []toldAttempt
}

func newScene() *scene {
	return &scene{f: follower{FollowOptions: FollowOptions{Number: 1}, content: newContent(), moment: moments{calls: map[domain.ToolExecutionID]callMoment{}}}}
}

func (s *scene) hear(events []Event) {
	for _, e := range events {
		if e.Type != domain.EventInferenceRequested {
			s.told = append(s.told, toldAttempt{e.Type, e.Attempt, e.Text, e.Skipped, e.Shown})
		}
	}
}

// tells has an event recorded, beside what the model has said in the step.
func (s *scene) tells(t *testing.T, kind domain.EventType, data any, said string) {
	t.Helper()
	e := domain.Event{Type: kind, EventHeader: domain.EventHeader{Time: at(2).AsTime(), Step: 1}, Data: data}
	m := domain.Message{CreatedAt: e.Time, Role: domain.RoleAssistant, Parts: []domain.Part{{Type: domain.PartText, Text: said}}}
	s.f.content.steps[1] = domain.StepExecution{Step: domain.AgentStep{Number: 1, Output: []domain.Message{m}}}
	s.hear(s.f.tell(t.Context(), e, account.Account{Head: &account.Head{}}))
}

func (s *scene) infers(t *testing.T, r domain.InferenceRequestStarted) {
	t.Helper()
	s.tells(t, domain.EventInferenceRequested, r, "")
}

// answers ends an inference, with an error where its code is not empty.
func (s *scene) answers(t *testing.T, text string, code domain.Code) {
	t.Helper()
	reply := domain.InferenceResponseReceived{Code: code}
	if code != "" {
		reply.Kind = domain.Unavailable
	}
	s.tells(t, domain.EventInferenceReceived, reply, text)
}

// beats is a heartbeat of an activity, which the server has tried so often.
func (s *scene) beats(activity string, tries int, beat contract.Heartbeat) {
	if beat.Step == 0 {
		beat.Step = 1
	}
	p := account.Pending{ID: activity, Attempt: tries, Fresh: true, Heartbeat: &beat}
	if tries > 1 {
		p.Failure = domain.Errorf(domain.Unavailable, "cut")
	}
	s.hear(s.f.inferring(p))
}

// TestLiveTextByAttempt: text and reasoning are shown once each, as they come. What is made again is withdrawn before, and an answer
// says how much of it was shown.
func TestLiveTextByAttempt(t *testing.T) {
	t.Parallel()
	one := contract.Heartbeat{Attempt: 1, Tail: "two ", Length: 4}
	shown := toldAttempt{EventText, 1, "two ", 0, 0}
	withdrawn, received := toldAttempt{Type: EventWithdrawn, Attempt: 1}, domain.EventInferenceReceived
	for name, c := range map[string]struct {
		play func(t *testing.T, s *scene)
		want []toldAttempt
	}{
		"as it comes": {func(t *testing.T, s *scene) {
			s.beats("2", 1, contract.Heartbeat{Attempt: 1, Reasoning: "hm", ReasoningLength: 2})
			s.beats("2", 1, contract.Heartbeat{Attempt: 1, Reasoning: "hm, 6×7", ReasoningLength: 8, Tail: "It", Length: 2})
			s.answers(t, "It is.", "")
		}, []toldAttempt{{EventReasoning, 1, "hm", 0, 0}, {EventReasoning, 1, ", 6×7", 0, 0}, {EventText, 1, "It", 0, 0}, {received, 1, "It is.", 0, 2}}},
		"to a late reader": {func(t *testing.T, s *scene) {
			s.beats("2", 1, contract.Heartbeat{Attempt: 1, Tail: "the end", Length: 1007, Reasoning: "thought", ReasoningLength: 507})
			s.beats("2", 1, contract.Heartbeat{Attempt: 1, Tail: "the end of it", Length: 1013, Reasoning: "thought", ReasoningLength: 507})
			s.answers(t, strings.Repeat("x", 1000)+"the end of it.", "")
		}, []toldAttempt{{EventReasoning, 1, "thought", 500, 0}, {EventText, 1, "the end", 1000, 0}, {EventText, 1, " of it", 0, 0}, {received, 1, strings.Repeat("x", 1000) + "the end of it.", 0, 1013}}},
		"a failure, and another inference": {func(t *testing.T, s *scene) {
			s.beats("2", 1, one)
			s.answers(t, "", domain.CodeMalformed)
			s.infers(t, domain.InferenceRequestStarted{Attempts: 1})
			s.beats("4", 1, contract.Heartbeat{Attempt: 2, Tail: "four", Length: 4})
			s.answers(t, "four", "")
		}, []toldAttempt{shown, withdrawn, {received, 1, "", 0, 0}, {EventText, 2, "four", 0, 0}, {received, 2, "four", 0, 4}}},
		"tried again by the server": {func(t *testing.T, s *scene) {
			s.beats("2", 1, one)
			s.beats("2", 2, contract.Heartbeat{Attempt: 2, Tail: "42", Length: 2})
			s.answers(t, "42.", "")
		}, []toldAttempt{shown, withdrawn, {EventRetry, 2, "", 0, 0}, {EventText, 2, "42", 0, 0}, {received, 2, "42.", 0, 2}}},
		"made again after a lost worker": {func(t *testing.T, s *scene) {
			s.beats("2", 1, one)
			s.beats("5", 1, contract.Heartbeat{Attempt: 1, Tail: "four", Length: 4})
			s.answers(t, "four", "")
		}, []toldAttempt{shown, withdrawn, {EventRetry, 1, "", 0, 0}, {EventText, 1, "four", 0, 0}, {received, 1, "four", 0, 4}}},
		"another answer than was shown": {func(t *testing.T, s *scene) { s.beats("2", 1, one); s.answers(t, "2", "") }, []toldAttempt{shown, withdrawn, {received, 1, "2", 0, 0}}},
		"cut off by a stop, and kept": {func(t *testing.T, s *scene) {
			s.beats("2", 1, contract.Heartbeat{Attempt: 1, Tail: "two ", Length: 8})
			s.answers(t, "…two ", domain.CodeInterrupted)
		}, []toldAttempt{{EventText, 1, "two ", 4, 0}, {received, 1, "…two ", 0, len("…two ")}}},
		"cut off by a stop, and not kept": {func(t *testing.T, s *scene) { s.beats("2", 1, one); s.answers(t, "", domain.CodeInterrupted) }, []toldAttempt{shown, withdrawn, {received, 1, "", 0, 0}}},
		"where a hook may rewrite it":     {func(_ *testing.T, s *scene) { s.f.moment.withheld = true; s.beats("2", 1, one) }, nil},
		"of a sub-agent":                  {func(_ *testing.T, s *scene) { s.f.below = true; s.beats("2", 1, one) }, nil},
		"of another step": {func(_ *testing.T, s *scene) {
			s.beats("2", 1, contract.Heartbeat{Attempt: 1, Step: 2, Tail: "two ", Length: 4})
		}, nil},
		"of a summary": {func(t *testing.T, s *scene) {
			s.infers(t, domain.InferenceRequestStarted{Summary: true})
			s.beats("2", 1, one)
			s.answers(t, "no answer", "")
		}, []toldAttempt{{Type: received}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene()
			s.infers(t, domain.InferenceRequestStarted{})
			c.play(t, s)
			require.Equal(t, c.want, s.told)
		})
	}
}

// TestWithheldTextIsToldOnce an execution, with the hook that may rewrite it.
func TestWithheldTextIsToldOnce(t *testing.T) {
	t.Parallel()
	s, told := newScene(), []string{}
	for step := range 2 {
		e := domain.Event{Type: domain.EventStepStarted, EventHeader: domain.EventHeader{Step: step + 1}}
		for _, e := range s.f.tell(t.Context(), e, account.Account{Head: &account.Head{Withheld: "redact"}}) {
			if e.Type == EventWithheld {
				told = append(told, e.Hook)
			}
		}
	}
	require.Equal(t, []string{"redact"}, told)
}

// TestProgressOfACallIsShown once, and no longer when the call has ended.
func TestProgressOfACallIsShown(t *testing.T) {
	t.Parallel()
	s, id := newScene(), nth(1).Step(1).Tool(1)
	call := domain.EventCall{ToolExecutionID: id, Tool: "index"}
	record := func(kind domain.EventType, data any) {
		e := domain.Event{Type: kind, EventHeader: domain.EventHeader{Step: 1}, Data: data}
		s.f.tell(t.Context(), e, account.Account{Head: &account.Head{}})
	}
	var got []string
	hears := func(text string) {
		for _, e := range s.f.progress(account.Pending{Heartbeat: &contract.Heartbeat{Call: id, Progress: &contract.Progress{Tool: "index", Text: text}}}) {
			require.Equal(t, []any{EventToolProgress, 1, 1, "index"}, []any{e.Type, e.Step, e.Position, e.Tool})
			got = append(got, e.Text)
		}
	}
	s.f.content.steps[1] = domain.StepExecution{Step: domain.AgentStep{ToolExecutions: []domain.ToolExecution{{}, {ID: id}}}}
	record(domain.EventToolCallStarted, call)
	hears("300 of 900")
	hears("300 of 900")
	hears("900 of 900")
	record(domain.EventToolCallCompleted, domain.ToolCallCompleted{EventCall: call})
	hears("late")
	require.Equal(t, []string{"300 of 900", "900 of 900"}, got)
}
