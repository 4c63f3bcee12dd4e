package progress

import (
	"slices"
	"time"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/conversation"
)

// A Retelling tells what a run of the workflow that has continued as new holds, by its history alone: to
// ask the run itself is to have a worker replay it. It tells the runs in which nothing happened but answers
// and calls, each made once, and is silent on all others: what hooks, guards, people, stops, losses and
// summaries make of a run only the workflow knows. What it tells is held against the references to the
// transcript that the run has recorded. It is used by one goroutine.
type Retelling struct {
	began RunBegan
	// execution is the one in progress, and compiler, model, agent and price are those of its inferences.
	execution domain.ExecutionID
	compiler  domain.Compiler
	model     string
	agent     string
	price     *domain.Price
	resolved  bool

	// begun is when the workflow task in progress began, and clock when the one did that was done last,
	// which is the workflow's time: what came before it was taken by it, and waiting by none yet.
	begun, clock time.Time
	waiting      []Fact

	log   domain.Log
	steps []domain.StepExecution
	// step is the one in progress, with its calls and what came of them.
	step    *Step
	since   time.Time
	calls   []domain.ToolCall
	replies []*contract.ToolReply
	open    int

	silent, ended bool
}

// A Retold is what a run holds: the steps of the execution in progress, and messages.
type Retold struct {
	ExecutionID domain.ExecutionID
	Steps       []domain.StepExecution
	Entries     []domain.Entry
}

// Retell begins the telling of a run.
func Retell(began RunBegan) *Retelling {
	in := began.Input
	r := &Retelling{began: began, compiler: in.Definition.Compiler, model: in.Definition.Model.String()}
	took := Carried(in)
	switch {
	case !began.Readable(), in.GoOn != nil, in.Fork != nil, in.Given != nil:
		r.silent = true
	case took.Begins:
		r.execution = in.AgentID.Execution(began.Run, took.Number)
	case took.Open:
		r.silent = !r.takesOver(*in.Carry)
	default:
		r.silent = true
	}
	return r
}

// takesOver begins with what the run before has handed on, and reports whether that is told of.
func (r *Retelling) takesOver(carry contract.Carry) bool {
	state, err := domain.DecodeAgentState(carry.State)
	execution, ok := state.Execution()
	steps, definition := state.StepExecutions(), carry.Resolved
	if err != nil || !ok || len(steps) == 0 || definition == nil || len(definition.Hooks) > 0 || carry.Paused || carry.Copy != nil || len(carry.Waiting) > 0 {
		return false
	}
	if c := execution.Continuation(); len(c.StopSignals)+len(c.Overridden)+len(c.Late)+c.More > 0 || c.Requested {
		return false
	}
	r.execution, r.resolved = execution.ID(), true
	r.model, r.price = definition.Definition.Model.String(), definition.Price
	r.steps = steps[len(steps)-1:]
	if carry.Handed != nil {
		r.agent = carry.Handed.Agent
	}
	r.log, err = handed(carry)
	return err == nil
}

// handed is the transcript as a run hands it on.
func handed(carry contract.Carry) (domain.Log, error) {
	return domain.LogAt(carry.Base, carry.Chain).Join(carry.Entries...)
}

// Silent reports whether nothing will be told of the run.
func (r *Retelling) Silent() bool { return r.silent }

// Take takes the run's next fact.
func (r *Retelling) Take(fact Fact, at time.Time) {
	switch f := fact.(type) {
	case RunBegan, Attempted:
	case TaskBegan:
		r.begun = at
	case TaskDone:
		r.taskDone()
	case Asked:
		r.asked(f.Work)
	case ModelReplied, ToolReplied, Resolved, Finished:
		r.waiting = append(r.waiting, fact)
	case RunEnded:
		r.ended = f.How == Continued
	default:
		r.silent = true
	}
}

func (r *Retelling) taskDone() {
	first := r.clock.IsZero()
	r.clock = r.begun
	if first && r.began.Input.Carry == nil && !r.silent {
		r.log = conversation.New(r.compiler).WithPrompt(r.execution, r.began.Input.Prompt, r.clock).Log()
	}
	for _, fact := range r.waiting {
		switch f := fact.(type) {
		case ModelReplied:
			r.answered(f)
		case ToolReplied:
			r.called(f)
		case Resolved:
			r.silent = r.silent || r.resolved || len(f.Catalog.Hooks) > 0
			r.resolved, r.price = true, f.Catalog.Price
		}
	}
	r.waiting = nil
}

func (r *Retelling) now() At { return At{Time: r.clock, Price: r.price} }

func (r *Retelling) asked(work Work) {
	switch {
	case work.Model != nil:
		r.askedModel(work)
	case work.Tool != nil:
		tool := *work.Tool
		if r.step == nil || work.Execution() != r.execution || work.Step() != r.step.Number ||
			tool.Position >= len(r.calls) || !r.step.ToolExecutions[tool.Position].StartedAt.IsZero() {
			r.silent = true
			return
		}
		work.Since = r.clock
		*r.step = r.step.With(Asked{work}, r.now())
	case work.Activity != string(contract.ListTools) && work.Activity != string(contract.Record):
		r.silent = true
	}
}

func (r *Retelling) askedModel(work Work) {
	request := *work.Model
	number := request.Step
	if n := len(r.steps); r.step != nil || n > 0 && number != r.steps[n-1].Step.Number+1 || n == 0 && number != 1 ||
		request.ExecutionID != r.execution || request.Log != r.log.Ref() || request.Summary != nil ||
		request.Edits.Summary > 0 || request.Attempts+request.Lost > 0 {
		r.silent = true
		return
	}
	step := Begin(r.execution.Step(number), number)
	step.Model, step.Agent = r.model, r.agent
	step.Input = domain.StepInput{
		Compiler: r.compiler.OrDefault(), Messages: request.Log.Length, Digest: request.Log.Digest, Edits: request.Edits,
	}
	r.step, r.since = &step, r.clock
}

func (r *Retelling) answered(f ModelReplied) {
	m, _ := Sound(f.Reply.Message)
	if r.step == nil || f.Step() != r.step.Number || f.Reply.Outcome != contract.Answered || f.Reply.Invalid != "" ||
		len(m.ToolCalls) == 0 || Read(m, f.Reply.Response) != Whole {
		r.silent = true
		return
	}
	*r.step = r.step.With(f, r.now()).take(f.Reply, r.now())
	r.step.Output = nil
	r.calls, r.open = m.ToolCalls, len(m.ToolCalls)
	r.replies = make([]*contract.ToolReply, r.open)
	r.say(m, f.Reply.Digest, domain.ToolExecutionID{})
}

func (r *Retelling) called(f ToolReplied) {
	i := f.Tool.Position
	if r.step == nil || f.Step() != r.step.Number || i >= len(r.replies) || r.replies[i] != nil ||
		f.Reply.NotStarted || f.Reply.Pending != nil || f.Reply.Stop != nil {
		r.silent = true
		return
	}
	*r.step = r.step.With(f, r.now())
	r.replies[i] = &f.Reply
	if r.open--; r.open > 0 {
		return
	}
	for i, reply := range r.replies {
		r.say(ToolMessage(r.calls[i], *reply), reply.Digest, r.step.ID.Tool(i))
	}
	r.steps = append(r.steps, domain.StepExecution{Step: r.step.AgentStep, StartedAt: r.since, CompletedAt: r.clock})
	r.step, r.calls, r.replies = nil, nil, nil
}

// say adds a trace of the step to the transcript and to the step's output.
func (r *Retelling) say(m domain.Message, digest domain.Digest, call domain.ToolExecutionID) {
	m.ID, m.CreatedAt = r.step.ID.Message(len(r.step.Output)), r.clock
	m = domain.Tag{
		AgentID: r.began.Input.AgentID, ExecutionID: r.execution, StepID: r.step.ID, ToolExecutionID: call, Trace: true,
	}.Apply(m)
	r.step.Output = append(r.step.Output, m)
	r.log = r.log.Append("", m, digest)
}

// Told is what the run holds, where all of it was told: next is what the run that goes on took over.
func (r *Retelling) Told(next RunBegan) (Retold, bool) {
	if r.silent || !r.ended || r.step != nil || len(r.waiting) > 0 || len(r.steps) == 0 || !next.Readable() || next.Input.Carry == nil {
		return Retold{}, false
	}
	took := Carried(next.Input)
	log, err := handed(*next.Input.Carry)
	if last := r.steps[len(r.steps)-1]; err != nil || !took.Open || took.Execution != r.execution || took.Steps != last.Step.Number || log.Ref() != r.log.Ref() {
		return Retold{}, false
	}
	told := Retold{ExecutionID: r.execution, Steps: make([]domain.StepExecution, len(r.steps)), Entries: slices.Clone(r.log.Entries())}
	for i, step := range r.steps {
		step.Step = step.Step.Trimmed(domain.MaxPage)
		if told.Steps[i], err = step.Wire().Kept(); err != nil {
			return Retold{}, false
		}
	}
	return told, true
}

// ToolMessage is the message that tells the model what came of a call.
func ToolMessage(call domain.ToolCall, reply contract.ToolReply) domain.Message {
	content := reply.Content
	if reply.Error != nil && content == "" {
		content = reply.Error.Message
	}
	m := domain.ToolMessage(domain.ToolResult{CallID: call.ID, Name: call.Name, Content: content, IsError: reply.Error != nil})
	if reply.Error == nil {
		m.Parts = reply.Parts
	}
	return m
}
