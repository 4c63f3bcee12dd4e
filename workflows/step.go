package workflows

import (
	"encoding/json"
	"fmt"

	"everstep/domain"
	"everstep/domain/hook"
	"everstep/workflows/internal/mailbox"
)

// A stepRun is the step in progress. It alone writes what it holds. For hooks that
// run between two steps it is of no number.
type stepRun struct {
	session      *session
	agent        *agent
	config       *configuration
	mail         *mailbox.Mailbox
	conversation *transcript
	execution    domain.ExecutionID
	content      stepContent
	// interjecting says that what hooks say joins the conversation at once. From the inference on it waits until the calls have
	// their results, so that it parts no call from its own; pending are those messages.
	interjecting bool
	pending      []domain.Entry
	// request is what hooks and guards want of its inference; at is the index of the
	// message that holds the calls.
	request hook.Request
	calls   []domain.ToolCall
	at      int
	// stopped says that a hook or a tool has asked to stop: nothing of the step
	// begins any more.
	stopped bool
	repeat  repeat
	hooked  hooked
	// handoff is what its calls have handed the conversation over to; nil: they have not.
	handoff *handoff
}

// A repeat says why a step asks for another one, where nothing asks to stop.
type repeat int

const (
	unrepeated repeat = iota
	// byAnotherModel: one takes over.
	byAnotherModel
	// inTheFormat: the answer does not fit the response format.
	inTheFormat
	// inItsCalls: the provider could not read a tool call of the model's.
	inItsCalls
)

type hooked struct {
	// failed says that one has failed, after which no other one runs.
	failed bool
	// bytes counts what those that are activities got and answered.
	bytes int
	// blocker is the hook that forbade a call last.
	blocker string
}

func (s *session) startStep() *stepRun {
	number := s.agent.state.StepCount() + 1
	id := s.agent.state.Execution.ID.Step(number)
	step := s.newStep(domain.AgentStep{ID: id, Number: number, Agent: s.config.Agent})
	s.agent.startStep(id, number)
	return step
}

// between is no step, for what happens between two.
func (s *session) between() *stepRun { return s.newStep(domain.AgentStep{}) }

func (s *session) newStep(step domain.AgentStep) *stepRun {
	return &stepRun{
		session: s, agent: s.agent, config: s.config, mail: s.mail, conversation: s.conversation,
		execution: s.agent.state.Execution.ID, content: stepContent{AgentStep: step}, interjecting: true,
	}
}

// note says what the step does now.
func (t *stepRun) note(format string, args ...any) {
	t.agent.note(fmt.Sprintf("step %d: %s", t.content.Number, fmt.Sprintf(format, args...)))
}

// summary is what Temporal's own UI shows of an activity of the step.
func (t *stepRun) summary(of string) string {
	return fmt.Sprintf("step %d · %s", t.content.Number, of)
}

// asks notes which model is asked, and what it is sent for the step's answer.
func (t *stepRun) asks(model string, input domain.StepInput) {
	t.content.Model, t.content.Input = model, input
}

// addWhatWaited adds the messages that hooks have added while calls ran, now that all of them have results.
func (t *stepRun) addWhatWaited() {
	t.interjecting = true
	for _, e := range t.pending {
		t.interject(e.Section, e.Message)
	}
	t.pending = nil
	t.keep()
}

// keep has the state hold the step as far as it has come.
func (t *stepRun) keep() { t.agent.keep(&t.content.AgentStep, t.conversation.Log()) }

// say adds a message of the step to the transcript and to the step's output.
func (t *stepRun) say(section string, m domain.Message, digest domain.Digest, tag domain.Tag) {
	m.ID = t.content.ID.Message(len(t.content.Output))
	tag.AgentID, tag.ExecutionID, tag.StepID = t.session.in.AgentID, t.execution, t.content.ID
	t.content.Output = append(t.content.Output, t.conversation.add(section, m, digest, tag, t.agent.now()))
}

func (t *stepRun) takeCalls(calls []domain.ToolCall, at int) { t.calls, t.at = calls, at }

func (t *stepRun) callAs(i int, call domain.ToolCall) { t.content.ToolExecutions[i].Call = call }

func (t *stepRun) callStarted(i int, effect domain.Effect) {
	t.content.ToolExecutions[i].StartedAt, t.content.ToolExecutions[i].Effect = t.agent.now(), effect
}

func (t *stepRun) waitChanged(i int, w domain.Wait) {
	t.content.ToolExecutions[i] = t.content.ToolExecutions[i].WithWait(w)
}

func (t *stepRun) callChanged(i int, value string, err *domain.Error) {
	execution := &t.content.ToolExecutions[i]
	execution.Value, execution.ResultDigest, execution.Error = value, domain.Digest{}, err
}

func (t *stepRun) repeatFor(why repeat) { t.repeat = why }

func (t *stepRun) halt() { t.stopped = true }

func (t *stepRun) blockedBy(hook string) { t.hooked.blocker = hook }

// maxHooked bounds what the hooks of one step that are activities may put into
// history, which only a new run takes off. Nothing is left out to stay below it:
// a hook that sees a part only would let the rest pass.
const maxHooked = 8 << 20

// weigh counts what a hook that is an activity gets or answers.
func (t *stepRun) weigh(value any) error {
	encoded, err := json.Marshal(value)
	if err != nil || t.content.Number == 0 {
		return err
	}
	if t.hooked.bytes += len(encoded); t.hooked.bytes > maxHooked {
		return domain.TooLargef("the hooks of one step that are activities may get and answer %d bytes together; let a hook that needs no I/O do it, or make results smaller", maxHooked)
	}
	return nil
}

// interject adds a message that a hook or guard has made, as a trace of the
// step where there is one. It waits where it would part a call from its result.
func (t *stepRun) interject(section string, m domain.Message) {
	switch {
	case !t.interjecting:
		t.pending = append(t.pending, domain.Entry{Section: section, Message: m})
	case t.content.Number == 0:
		m.ID = t.execution.Message(t.conversation.Len())
		tag := domain.Tag{AgentID: t.session.in.AgentID, ExecutionID: t.execution, Trace: true}
		t.conversation.add(section, m, fingerprint(m, t.conversation.Log().Chain()), tag, t.agent.now())
	default:
		m.ID = domain.MessageID{}
		t.say(section, m, fingerprint(m, t.conversation.Log().Chain()), domain.Tag{Trace: true})
		t.keep()
	}
}

// fingerprint is the digest of a message that a hook has made. The message
// follows from what history holds, so its encoding may change with a version:
// a transcript that is read back with another digest is fetched anew.
func fingerprint(m domain.Message, beside domain.Digest) domain.Digest {
	encoded, _ := json.Marshal(m)
	return chained(beside, string(encoded))
}

// admitCall is the permission for a call, or why it may not begin.
func (t *stepRun) admitCall() (mailbox.Admission, *domain.Error) {
	if t.mail.Settings.Paused {
		t.keep() // calls that have begun are seen while it waits
	}
	admission, ok := t.mail.Admit(mailbox.ForCall)
	switch {
	case !ok:
		return admission, notRun("the execution was stopped")
	case t.stopped:
		return admission, notRun("a hook or a tool has stopped the execution")
	}
	return admission, nil
}

func (t *stepRun) noMore() bool { return t.mail.NoTools() || t.stopped }
