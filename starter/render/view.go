package render

import (
	"fmt"
	"strings"
	"time"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client"
)

// A View shows events as they happen.
type View struct {
	// Show shows one event.
	Show func(client.Event)
	// Close leaves the terminal as a view should. It may be called twice.
	Close func()
}

// NewView is of plain lines. ui is where its runs can be looked at, by their ids.
func NewView(out *Output, id, ui string) View { return settled(newPlainView(out, id, ui).show) }

// settled has nothing to take back.
func settled(show func(client.Event)) View { return View{show, func() {}} }

// Blind shows nothing.
func Blind() View { return settled(func(client.Event) {}) }

// JSONView writes events as lines of JSON. That it could not is told by the output.
func JSONView(out *Output) View { return settled(func(e client.Event) { _ = out.JSON(e) }) }

// A plainView writes lines that also make sense in a file, each with its step. What the model writes comes by the line as it
// arrives, and what it thinks not at all.
type plainView struct {
	out *Output
	id  string
	ui  string // where a person looks at the agent, a run's id aside; empty for nowhere
	// before stands before each line of a sub-agent, whose texts take one line; empty: it is the agent that is followed.
	before string
	// below are the sub-agents, all those of the tree.
	below map[domain.AgentID]*plainView

	calls map[callKey]call
	// headed says that the line was written which names the execution.
	headed bool
	began  time.Time
	// thinks is since when the model thinks; zero: it does not, or nobody knows.
	thinks time.Time
	// held is the newest text, that of step heldStep, which is written only if the execution goes on: the answer is elsewhere.
	held     string
	heldStep int
	text     plainText
}

type callKey struct{ step, position int }

type call struct {
	words string
	since time.Time
}

func newPlainView(out *Output, id, ui string) *plainView {
	return &plainView{out: out, id: id, ui: ui, below: map[domain.AgentID]*plainView{}, calls: map[callKey]call{}}
}

// A plainText is the text that the model is writing, as far as it has arrived.
type plainText struct {
	// rest makes no line yet; written bytes came before it, of which some were missed.
	rest    string
	written int
	missed  bool
}

// usualLine is from when on a line of the model's is broken before its end arrived.
const usualLine = 100

func (v *plainView) show(e client.Event) {
	if e.Type == domain.EventSubagentSpawning {
		id := e.ChildID.String()
		sub := newPlainView(v.out, id, "")
		sub.before = strings.Repeat("  ", len(e.Path)+1) + Joined(" ", OneLine(e.ChildName), shortAgent(id)) + ": "
		v.below[e.ChildID] = sub
	}
	if e.AgentID.IsZero() {
		v.tell(e)
	} else if sub := v.below[e.AgentID]; sub != nil {
		sub.tell(e)
	}
}

// tell writes the lines of an event.
func (v *plainView) tell(e client.Event) {
	if !v.headed && e.Number > 0 && v.before == "" {
		v.headed = true
		v.write(0, fmt.Sprintf("%s · execution %d", OneLine(v.id), e.Number))
	}
	v.thought(e)
	at := callKey{e.Step, e.Position}
	switch e.Type {
	case domain.EventExecutionStarted:
		if v.began = e.Time; v.ui != "" {
			v.write(e.Step, v.ui+e.RunID)
		}
	case domain.EventStepStarted:
		if v.held != "" {
			v.write(v.heldStep, v.held)
		}
		v.held, v.text = "", plainText{}
		v.write(0, fmt.Sprintf("step %d", e.Step))
	case domain.EventInferenceRequested:
		if e.Attempt > 1 {
			v.write(e.Step, fmt.Sprintf("-- it is tried again (attempt %d)", e.Attempt))
		} else {
			v.notice(e)
		}
	case client.EventReasoning:
	case client.EventText:
		v.add(e)
	case client.EventWithdrawn:
		if v.text.written > 0 {
			v.notice(e)
		}
		v.text = plainText{}
	case domain.EventInferenceReceived:
		v.answered(v.finished(e))
	case domain.EventToolCallStarted:
		c := call{words: CallWords(e.Tool, e.Arguments), since: e.Time}
		v.calls[at] = c
		if e.Wait != nil {
			c.words += " · " + WaitWords(*e.Wait)
		}
		v.write(e.Step, "calls "+c.words)
	case client.EventToolProgress:
		v.write(e.Step, "-- "+OneLine(e.Tool)+": "+OneLine(e.Text))
	case domain.EventToolCallCompleted:
		v.write(e.Step, v.toolDone(e, at))
	case domain.EventExecutionCompleted, domain.EventExecutionFailed, client.EventEnded:
		text, took := "ended", time.Duration(0)
		if !v.began.IsZero() {
			took = e.Time.Sub(v.began)
		}
		if e.Ended != nil {
			text = Ending(*e.Ended, took)
		}
		v.write(0, text)
	default:
		v.notice(e)
	}
}

// write writes lines, each with its step; zero: they are of none.
func (v *plainView) write(step int, lines string) {
	before := v.before
	if step > 0 {
		before += "step " + grouped(step) + ": "
	}
	for line := range strings.SplitSeq(lines, "\n") {
		v.out.Printf("%s%s\n", before, line)
	}
}

func (v *plainView) notice(e client.Event) {
	if text, _ := Notice(e); text != "" {
		v.write(e.Step, "-- "+text)
	}
}

func (v *plainView) thought(e client.Event) {
	switch e.Type {
	case client.EventReasoning:
		if v.thinks.IsZero() && e.Skipped == 0 {
			v.thinks = e.Time
		}
	case client.EventText, domain.EventInferenceReceived:
		if took := e.Time.Sub(v.thinks); !v.thinks.IsZero() && took >= time.Second {
			v.write(e.Step, "-- thought for "+Duration(took))
		}
		v.thinks = time.Time{}
	case domain.EventStepStarted, client.EventWithdrawn:
		v.thinks = time.Time{}
	default:
	}
}

// answered tells what an inference has said, and why it was cut off. What may be the answer is held back.
func (v *plainView) answered(e client.Event) {
	text := where(e.Error == nil || e.Outcome == contract.Interrupted, strings.TrimSpace(Clean(e.Text)))
	if v.before != "" {
		text = shortened(OneLine(text), maxWords)
	}
	switch {
	case e.Error == nil && len(e.Calls) == 0:
		v.held, v.heldStep = text, e.Step
	case text != "":
		v.write(e.Step, where(e.Error != nil && e.Skipped > 0, "…")+text)
	}
	if e.Error != nil {
		v.notice(e)
	}
}

func (v *plainView) toolDone(e client.Event, at callKey) string {
	c, known := v.calls[at]
	delete(v.calls, at)
	text := c.words
	if !known {
		text = OneLine(e.Tool)
	} else if took := e.Time.Sub(c.since); took > 0 {
		text += " · " + Duration(took)
	}
	if e.Error != nil {
		return "failed " + text + ": " + Why(e.Error)
	}
	return "done " + text
}

// add writes the lines that what has arrived makes whole.
func (v *plainView) add(e client.Event) {
	t := &v.text
	if e.Skipped > 0 {
		if t.rest != "" {
			v.write(e.Step, Clean(t.rest))
		}
		v.write(e.Step, "-- "+Counted(e.Skipped, "byte")+" of the text are not shown here")
		t.written, t.rest, t.missed = t.written+len(t.rest)+e.Skipped, "", true
	}
	t.rest += e.Text
	for {
		n := lineEnd(t.rest)
		if n == 0 {
			return
		}
		text := strings.TrimRight(t.rest[:n], " \r\n")
		if text != "" || t.written > 0 {
			v.write(e.Step, Clean(text))
		}
		t.rest, t.written = t.rest[n:], t.written+n
	}
}

// lineEnd is how many bytes make a line with its end; zero: more must arrive first.
func lineEnd(text string) int {
	if n := strings.IndexByte(text, '\n'); n >= 0 && n <= usualLine {
		return n + 1
	}
	if len(text) <= usualLine {
		return 0
	}
	if n := strings.LastIndexByte(text[:usualLine], ' '); n > 0 {
		return n + 1
	}
	return strings.IndexAny(text, " \n") + 1
}

// finished writes what is missing of a text and takes it out of the event.
func (v *plainView) finished(e client.Event) client.Event {
	if t := v.text; t.written > 0 && !t.missed && t.written <= min(e.Shown, len(e.Text)) {
		if rest := strings.TrimRight(Clean(e.Text[t.written:]), " \n"); rest != "" {
			v.write(e.Step, rest)
		}
		e.Text = ""
	}
	v.text = plainText{}
	return e
}
