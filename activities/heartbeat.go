package activities

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/activity"

	"everstep/activities/inference"
	"everstep/domain"
	"everstep/domain/contract"
)

// heartbeat heartbeats on a timer, with the same details, until the function that it
// returns is called. A cancellation reaches an activity only with its next
// heartbeat; what ends before the first costs the server none.
func (a *Activities) heartbeat(ctx context.Context, details ...any) (stop func()) {
	return a.heartbeatWith(ctx, func() []any { return details })
}

// heartbeatWith is heartbeat with the details as they are at each heartbeat.
func (a *Activities) heartbeatWith(ctx context.Context, details func() []any) (stop func()) {
	timeout := activity.GetInfo(ctx).HeartbeatTimeout
	alone := max(min(max(timeout/20, heartbeatEvery), time.Second), min(a.config.HeartbeatEvery, timeout/3))
	every := func() time.Duration { return max(alone, a.heartbeatLoad.spacing(timeout)) }
	return a.heartbeatLoad.repeat(heartbeatEvery, every, func() { activity.RecordHeartbeat(ctx, details()...) })
}

// heartbeatLoad counts the activities under way that heartbeat. Each heartbeat is a write of the
// server, so all of a worker's are bounded together: many activities have their stops later.
type heartbeatLoad struct{ n atomic.Int64 }

// repeat calls a function for one of them, first after a while, until the one that it returns is
// called, maybe twice. Then it is not under way either.
func (b *heartbeatLoad) repeat(first time.Duration, every func() time.Duration, do func()) (stop func()) {
	b.n.Add(1)
	var doing sync.Mutex
	var ended bool
	var timer *time.Timer
	doing.Lock()
	defer doing.Unlock()
	timer = time.AfterFunc(first, func() {
		doing.Lock()
		defer doing.Unlock()
		if !ended {
			do()
			timer.Reset(every())
		}
	})
	return func() {
		doing.Lock()
		defer doing.Unlock()
		if !ended {
			ended = true
			timer.Stop()
			b.n.Add(-1)
		}
	}
}

// spacing is how far apart the heartbeats of one are at the least.
func (b *heartbeatLoad) spacing(timeout time.Duration) time.Duration {
	// 100 may come in a second. One takes the server about a millisecond, and the worker a third of that.
	return min(time.Duration(b.n.Load())*10*time.Millisecond, timeout/3)
}

// heartbeatEvery is how often a heartbeat is recorded, and until the first of a tool call. The SDK
// holds most back; recording often is what lets a stop through without delay.
const heartbeatEvery = 100 * time.Millisecond

// A tail is the end of a text that grows.
type tail struct {
	most   int
	length int
	end    []byte
}

// add adds to the text. What is not UTF-8 is replaced, so that the text can be
// shown and its bytes counted alike by everyone.
func (t *tail) add(piece string) {
	piece = strings.ToValidUTF8(piece, "\uFFFD")
	t.length += len(piece)
	t.end = append(t.end, piece...)
	t.end = slices.Delete(t.end, 0, max(0, len(t.end)-t.most))
}

func (t *tail) String() string { return domain.Ending(string(t.end), t.most) }

// A modelHeartbeat reports how far an inference is. No request waits for a heartbeat: where the newest one of a lost attempt
// tells of no request, the workflow counts what it had reserved.
type modelHeartbeat struct {
	ctx context.Context
	// every is how often one is recorded that tells nothing new, and spacing how far apart any are.
	every   time.Duration
	spacing func() time.Duration
	// early is when a heartbeat goes out though there was no request yet.
	early time.Time
	stop  func()

	// sending orders the records: a later one never goes before an earlier.
	sending sync.Mutex
	// recorded is when the last one was, and told how much the model had said by then.
	recorded time.Time
	reported int

	mu        sync.Mutex
	details   contract.Heartbeat
	text      tail
	reasoning tail
	// withheld means that only the lengths of the two may be told.
	withheld bool
}

func (a *Activities) startModelHeartbeat(ctx context.Context, info activity.Info, details contract.Heartbeat) *modelHeartbeat {
	p := &modelHeartbeat{
		// The bounds of what a heartbeat tells a reader who comes late: several times what arrives between two at a hundred tokens a
		// second. An attempt that times out leaves them in the history.
		ctx: ctx, details: details, text: tail{most: 8 << 10}, reasoning: tail{most: 4 << 10},
		every:   min(a.config.HeartbeatEvery, info.HeartbeatTimeout/3),
		early:   time.Now().Add(cmp.Or(info.HeartbeatTimeout/3, 5*time.Second)), // 5 s where the activity has no heartbeat time-out
		spacing: func() time.Duration { return a.heartbeatLoad.spacing(info.HeartbeatTimeout) },
	}
	// So late that a short inference costs the server none. What a loss before it may have cost is in the request.
	p.stop = a.heartbeatLoad.repeat(200*time.Millisecond, func() time.Duration { return heartbeatEvery }, func() {
		if p.due(time.Now()) {
			p.record()
		}
	})
	return p
}

// due reports whether something is to be told, or has not been for long.
func (p *modelHeartbeat) due(now time.Time) bool {
	p.sending.Lock()
	defer p.sending.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.details.Phase == contract.PhaseWaiting && !now.After(p.early) {
		return false
	}
	since := now.Sub(p.recorded)
	return since >= p.spacing() && (p.text.length+p.reasoning.length > p.reported || since >= p.every)
}

func (p *modelHeartbeat) record() {
	p.sending.Lock()
	defer p.sending.Unlock()
	p.mu.Lock()
	details := p.details
	details.Length, details.ReasoningLength = p.text.length, p.reasoning.length
	if !p.withheld {
		details.Tail, details.Reasoning = p.text.String(), p.reasoning.String()
	}
	p.mu.Unlock()
	p.recorded, p.reported = time.Now(), details.Length+details.ReasoningLength
	activity.RecordHeartbeat(p.ctx, details)
}

// requested notes the request before it is sent. Where an attempt before this one was cut off, its heartbeat is the newest
// that the server has: this one's replaces it at once.
func (p *modelHeartbeat) requested(reserved domain.Usage) {
	p.mu.Lock()
	p.details.Phase, p.details.Reserved = contract.PhaseRequested, reserved
	p.mu.Unlock()
	if !p.details.Spent.IsZero() {
		p.record()
	}
}

// withhold keeps what the model says out of the reports. It must be called
// before anything is heard.
func (p *modelHeartbeat) withhold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.withheld = true
}

// heard notes a piece of the answer.
func (p *modelHeartbeat) heard(delta inference.Delta) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.details.Phase = contract.PhaseStreaming
	p.text.add(delta.Text)
	p.reasoning.add(delta.Reasoning)
	p.details.Reserved.ReasoningTokens = int64(p.reasoning.length+3) / 4
}

// nothingSpent says that the attempt cost nothing after all, so that the next
// one does not count it. It must be the last thing said.
func (p *modelHeartbeat) nothingSpent() {
	p.stop()
	if p.recorded.IsZero() {
		return // the server knows of no request
	}
	p.mu.Lock()
	p.details.Phase, p.details.Reserved = contract.PhaseWaiting, domain.Usage{}
	p.text, p.reasoning = tail{}, tail{}
	p.mu.Unlock()
	p.record()
}

// spentBefore is what attempts of this activity that were lost may have cost.
func spentBefore(ctx context.Context) domain.Usage {
	var last contract.Heartbeat
	if !activity.HasHeartbeatDetails(ctx) || activity.GetHeartbeatDetails(ctx, &last) != nil {
		return domain.Usage{}
	}
	return last.Used()
}

// A toolProgress is what a tool has told of its progress in a call.
type toolProgress struct {
	tool string
	hide func(string) string
	// heard has a value when something was told since it was last read.
	heard chan struct{}

	text atomic.Pointer[string]
}

// tell takes what may be too long, of many lines or secret.
func (p *toolProgress) tell(text string) {
	text = domain.Shorten(strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " "), 4*contract.MaxProgress)
	p.text.Store(&text)
	select {
	case p.heard <- struct{}{}:
	default:
	}
}

// newest is what was told last; nil: nothing was.
func (p *toolProgress) newest() *contract.Progress {
	text := *cmp.Or(p.text.Load(), new(string))
	if text == "" {
		return nil
	}
	// Hidden before it is cut, which could leave half of a secret.
	return &contract.Progress{Tool: domain.Shorten(p.tool, 64), Text: domain.Shorten(p.hide(text), contract.MaxProgress)}
}
