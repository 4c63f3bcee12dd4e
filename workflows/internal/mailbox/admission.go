package mailbox

import (
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
)

// An Admission allows its holder to start what it was asked for, and what belongs to
// that: the check of an answer belongs to its inference. A stop that comes later
// does not take it back, but cuts off what it has started. Only a mailbox makes
// admissions; with the zero one the workflow task fails.
type Admission struct {
	mail  *Mailbox
	scope workflow.Context
	// under are the activities under way that a stop cuts off.
	under *underWay
}

// A Purpose is what an admission is asked for.
type Purpose int

// Whatever ends the loop refuses an admission for what comes before a step, and a stop
// of mode now one for what belongs to it.
const (
	// ForStep is to begin the next step. A pause holds it back.
	ForStep Purpose = iota
	// BetweenSteps is to see to the session before a step: to resolve, copy or record.
	BetweenSteps
	// ForInference is to ask the model. A pause holds it back.
	ForInference
	// WithinStep is to see to the step in progress.
	WithinStep
	// ForCall is to make a tool call. A stop of mode after_inference refuses it too,
	// and a pause holds it back.
	ForCall
	// ForHook is to run a hook that is an activity. It is never refused: a stop of
	// mode now cuts the hook off as it begins, unless the loop is over.
	ForHook
	// WhileIdle is to write an idle session away. What waits to begin or closes
	// the session refuses it, and cuts it off later.
	WhileIdle
)

// Admit returns the permission to start something, unless what has arrived
// forbids it.
func (m *Mailbox) Admit(purpose Purpose) (Admission, bool) {
	if purpose == ForStep || purpose == ForInference || purpose == ForCall {
		m.waitWhilePaused()
	}
	refused := false
	switch purpose {
	case ForStep, BetweenSteps:
		refused = m.Stopped()
	case ForInference, WithinStep:
		refused = m.CutOff()
	case ForCall:
		refused = m.NoTools()
	case ForHook:
		if m.ending {
			return m.LastAdmission(), true
		}
	case WhileIdle:
		if refused = m.Woken(); !refused {
			m.renew()
		}
	}
	return m.unless(refused)
}

func (m *Mailbox) unless(refused bool) (Admission, bool) {
	if refused {
		return Admission{}, false
	}
	return Admission{m, m.scope, m.under}, true
}

// Interrupted reports whether what was in flight in this execution was cut off,
// by a stop or by its end.
func (m *Mailbox) Interrupted() bool { return m.scope.Err() != nil }

// BackOff waits before something of the step is tried again, and reports whether
// it may be: a stop of mode now ends the wait and refuses it.
func (m *Mailbox) BackOff(delay time.Duration) bool {
	never := func() bool { return false }
	if m.ending { // hooks have their say all the same
		m.waitFor(m.root, delay, never)
		return true
	}
	m.waitFor(m.scope, delay, never)
	return !m.CutOff() && !m.Interrupted()
}

// waitFor waits, in the coroutine of ctx, for a time or until something ends that before.
func (m *Mailbox) waitFor(ctx workflow.Context, delay time.Duration, ends func() bool) {
	pause, cancel := workflow.WithCancel(ctx)
	defer cancel()
	timer := workflow.NewTimer(pause, delay)
	m.wait(ctx, func() bool { return timer.IsReady() || ends() })
}

// Idle waits between executions, until something wakes the session or another reason ends the wait.
func (m *Mailbox) Idle(longest time.Duration, over func() bool) {
	m.waitFor(m.root, longest, func() bool { return m.Woken() || over() })
}

// BackOffUnlessStopped waits before the model is asked again, and reports whether it may
// be. Nothing is under way meanwhile, so any stop ends the wait and refuses it.
func (m *Mailbox) BackOffUnlessStopped(delay time.Duration) bool {
	stopped := func() bool { return m.CutOff() || m.stops() || m.Interrupted() }
	if stopped() {
		return false
	}
	m.waitFor(m.scope, delay, m.stops)
	return !stopped()
}

// admitCall waits, in the coroutine of a call, as that has to before it begins, and returns the admission to begin it. A stop
// that lets no tool start ends the wait and refuses it, as does what halts the step.
func (m *Mailbox) admitCall(stopped func() bool, wait func(refused func() bool)) (Admission, bool) {
	refused := func() bool { return m.stop.noTools() || stopped() }
	if m.DrainSignals(); !refused() {
		wait(refused)
	}
	m.DrainSignals()
	return m.unless(refused())
}

// BackOffCall waits before a tool call that did not begin is made again. A pause holds it back, unless a stop is
// to let the step finish: held is told when nothing else does, and when that is over.
func (m *Mailbox) BackOffCall(ctx workflow.Context, delay time.Duration, stopped func() bool, held func(on bool)) (Admission, bool) {
	return m.admitCall(stopped, func(refused func() bool) {
		m.waitFor(ctx, delay, refused)
		m.holdBack(ctx, refused, held)
	})
}

// AwaitTurn waits until another call is over. A pause holds this one back, and held is told, as in BackOffCall.
func (m *Mailbox) AwaitTurn(ctx workflow.Context, free, stopped func() bool, held func(on bool)) (Admission, bool) {
	return m.admitCall(stopped, func(refused func() bool) {
		for waits := true; waits; { // another one may begin as the pause ends
			m.wait(ctx, func() bool { return free() || refused() })
			waits = m.holdBack(ctx, refused, held) && !refused()
		}
	})
}

// AdmitDecided is the admission to begin a call that somebody has allowed. A pause holds it back.
func (m *Mailbox) AdmitDecided(ctx workflow.Context, stopped func() bool) (Admission, bool) {
	return m.admitCall(stopped, func(refused func() bool) { m.holdBack(ctx, refused, func(bool) {}) })
}

// holdBack waits while a pause, and nothing else, holds back a call, and reports whether it did.
func (m *Mailbox) holdBack(ctx workflow.Context, refused func() bool, held func(on bool)) bool {
	over := func() bool { return !m.Settings.Paused || m.stops() || refused() }
	if over() {
		return false
	}
	held(true)
	m.wait(ctx, over)
	held(false)
	return true
}

// BackOffAsking waits before it is asked what came of a call that is under way elsewhere, in the coroutine of
// the call. A stop of mode now ends the wait and refuses the admission. A pause does not: nothing new begins.
func (m *Mailbox) BackOffAsking(ctx workflow.Context, delay time.Duration) (Admission, bool) {
	if !m.CutOff() && delay > 0 {
		m.waitFor(ctx, delay, func() bool { return m.stop.mode == contract.StopNow })
	}
	return m.Admit(WithinStep)
}

// LastAdmission is the admission to say elsewhere that a call is given up. It is never refused, and no stop cuts off
// what it is for, which has short time-outs of its own.
func (m *Mailbox) LastAdmission() Admission { return Admission{m, m.root, &underWay{}} }

// AwaitDecision waits, in the coroutine of a call, until somebody has spoken about it or its time is over, and
// returns the admission to begin it where it was allowed. Whatever stops the execution ends the wait, a gentle stop too: a
// step that waits for people might never end. It answers false where a stop did.
func (m *Mailbox) AwaitDecision(ctx workflow.Context, until time.Time, answered, stopped func() bool) (decided bool) {
	over := func() bool { return m.Asked() || stopped() }
	ended := func() bool { return answered() || over() }
	if m.DrainSignals(); until.IsZero() {
		m.wait(ctx, ended)
	} else if !ended() {
		m.waitFor(ctx, max(until.Sub(m.now()), 0), ended)
	}
	m.DrainSignals()
	return answered() || !over()
}

// Await schedules an activity from the workflow's main coroutine and waits for
// its result, which is there also beside an error.
func Await[In, Out any](p Admission, options workflow.ActivityOptions, activity contract.Activity[In, Out], in In) (*Out, error) {
	out, _, err := Call(p.mail.root, p, options, activity, in)
	return out, err
}

// Call is Await in the coroutine of ctx; cutOff reports whether the activity was cancelled before its end came. An
// input that the server would refuse is an error of ours, before any command is issued.
func Call[In, Out any](
	ctx workflow.Context, p Admission, options workflow.ActivityOptions, activity contract.Activity[In, Out], in In,
) (out *Out, cutOff bool, err error) {
	out = new(Out)
	future, err := schedule(p, options, activity, in)
	if err != nil {
		return out, false, err
	}
	own := p.under.begin(future)
	p.mail.wait(ctx, future.IsReady)
	err = future.Get(ctx, out)
	return out, p.under.end(own), err
}

// underWay are activities that a stop cuts off.
type underWay struct{ all []*oneUnderWay }

type oneUnderWay struct {
	workflow.Future
	cutOff bool
}

func (u *underWay) begin(future workflow.Future) *oneUnderWay {
	own := &oneUnderWay{Future: future}
	u.all = append(u.all, own)
	return own
}

// end reports whether the activity was cut off.
func (u *underWay) end(own *oneUnderWay) bool {
	i := slices.Index(u.all, own)
	u.all = slices.Delete(u.all, i, i+1)
	return own.cutOff
}

// cutOff notes which activities a stop cuts off: not those that have ended, of which the workflow
// just has not heard.
func (u *underWay) cutOff() {
	for _, one := range u.all {
		one.cutOff = one.cutOff || !one.IsReady()
	}
}

// schedule does not wait: what it holds on the stack is gone by then.
func schedule[In, Out any](
	p Admission, options workflow.ActivityOptions, activity contract.Activity[In, Out], in In,
) (workflow.Future, error) {
	var input any = in // put into an interface once
	if err := domain.CheckFits(string(activity), input, domain.MaxPayload); err != nil {
		return nil, err
	}
	return workflow.ExecuteActivity(workflow.WithActivityOptions(p.scope, options), string(activity), input), nil
}

// maxLoad bounds what goes to the server at once: it refuses 4 MiB, for good. There
// is room for one more activity beside it.
const maxLoad = 2 << 20

// A Load is about how many bytes of calls go to the server in one request, which is
// all that a workflow task brings.
type Load struct {
	// Beside is how many bytes of other commands the workflow task brings.
	Beside func() int

	bytes int
	// gone is over when they have gone, where more waits for that.
	gone workflow.Future
}

// Add waits, in the coroutine of ctx, until so many bytes fit. A timer ends the task.
func (l *Load) Add(ctx workflow.Context, bytes int) {
	for sum := l.bytes + l.Beside(); sum > 0 && sum+bytes > maxLoad; sum = l.bytes + l.Beside() {
		if l.gone == nil {
			l.gone = workflow.NewTimer(ctx, time.Millisecond)
		}
		gone := l.gone
		_ = gone.Get(ctx, nil)
		if l.gone == gone {
			l.bytes, l.gone = 0, nil
		}
	}
	l.bytes += bytes
}
