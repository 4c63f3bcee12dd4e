package render

import (
	"strings"

	"everstep/domain"
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
func NewView(out *Output, id, ui string) View {
	return settled((&plainView{out: out, story: newStory(id, ui)}).show)
}

// settled has nothing to take back.
func settled(show func(client.Event)) View { return View{show, func() {}} }

// Blind shows nothing.
func Blind() View { return settled(func(client.Event) {}) }

// JSONView writes events as lines of JSON. That it could not is told by the output.
func JSONView(out *Output) View { return settled(func(e client.Event) { _ = out.JSON(e) }) }

// plainView writes lines that also make sense in a file, each with its step.
// What the model writes comes by the line as it arrives, and what it thinks not
// at all.
type plainView struct {
	out   *Output
	story *story
	text  plainText
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
	v.story.below.join(e)
	if !e.AgentID.IsZero() {
		v.showBelow(e)
		return
	}
	unseen := e.Type == client.EventWithdrawn && v.text.written == 0
	switch e.Type {
	case domain.EventInferenceReceived:
		e = v.finished(e)
	case client.EventWithdrawn, domain.EventStepStarted:
		v.text = plainText{}
	default:
	}
	if lines := v.story.Tell(e); !unseen {
		v.write(lines)
	}
	if e.Type == client.EventText {
		v.add(e)
	}
}

// showBelow shows what a sub-agent does.
func (v *plainView) showBelow(e client.Event) {
	m, lines := v.story.below.tell(e)
	for _, l := range lines {
		v.out.Printf("%s%s: %s\n", m.deep(), m.name, v.paint(l, l.text))
	}
}

func (v *plainView) write(lines []line) {
	for _, l := range lines {
		for text := range strings.SplitSeq(l.text, "\n") {
			v.out.Printf("%s\n", v.paint(l, text))
		}
	}
}

// add writes the lines that what has arrived makes whole.
func (v *plainView) add(e client.Event) {
	said := func(text string) { v.write([]line{{mark: markText, step: e.Step, text: Clean(text)}}) }
	t := &v.text
	if e.Skipped > 0 {
		if t.rest != "" {
			said(t.rest)
		}
		v.write([]line{{mark: markNotice, step: e.Step, text: Counted(e.Skipped, "byte") + " of the text are not shown here"}})
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
			said(text)
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
			v.write([]line{{mark: markText, step: e.Step, text: rest}})
		}
		e.Text = ""
	}
	v.text = plainText{}
	return e
}

// paint is a line of a terminal that cannot take anything back, or of a file.
func (v *plainView) paint(l line, text string) string {
	before := map[mark]string{markCall: "calls ", markDone: "done ", markFailed: "failed ", markWarning: "-- ", markNotice: "-- ", markAt: "-- "}
	text = before[l.mark] + text
	if l.step > 0 && l.mark != markStep {
		return "step " + grouped(l.step) + ": " + text
	}
	return text
}
