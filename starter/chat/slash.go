package chat

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/enum"
	"everstep/domain/spelling"
	"everstep/starter/client"
	"everstep/starter/render"
)

// A command is what a line that begins with a slash does.
type command struct {
	name, takes, does string
	run               func(m *Model, rest string)
}

// commands are all of them, in the order in which help shows them.
func commands() []command {
	return []command{
		{"stop", "[now|after_inference|after_step]", "stop this turn; after_step unless given", (*Model).slashStop},
		{"pause", "", "let nothing new start in this turn", func(m *Model, _ string) { m.wants(wantPause{on: true}) }},
		{"resume", "", "let it go on", func(m *Model, _ string) { m.wants(wantPause{}) }},
		{"queue", "MESSAGE", "have a message begin a turn of its own when this one has ended; others join it at its next step", (*Model).slashQueue},
		{"unsend", "[MESSAGE ID]", "take a message back that was not read yet, the newest unless one is named", (*Model).slashUnsend},
		{"fork", "[STEP] MESSAGE", "begin another session with what this one has come to, or had after a step of this turn", (*Model).slashFork},
		{"rewind", "[TURN [STEP]]", "go on from the end of a turn, or a step of it; the newest turn is taken back unless one is named", (*Model).slashRewind},
		{"extend", "[session] LIMIT=TOTAL…", "raise limits (max_steps=40, max_cost=0.50, deadline=none), or go on after one; those over the whole session", (*Model).slashExtend},
		{"model", "PROVIDER/NAME", "who answers from the next turn on", (*Model).slashModel},
		{"cost", "", "what this turn has used, and what its limits leave", func(m *Model, _ string) {
			m.costAsked = true // it is shown when the agent has told it
			m.wants(wantLook{})
		}},
		{"later", "", "leave a question for later", (*Model).slashLater},
		{"approve", "", "ask again about what was left for later", (*Model).slashApprove},
		{"reasoning", "", "show or fold what the model thought (Ctrl-R)", func(m *Model, _ string) { m.conversation.fold() }},
		{"agents", "", "show or fold the steps of sub-agents (Ctrl-T)", func(m *Model, _ string) { m.foldBelow() }},
		{"help", "", "this list, and the keys", (*Model).slashHelp},
		{"quit", "", "leave; the session stays open, and what goes on goes on", func(m *Model, _ string) { m.wants(wantLeave{}) }},
	}
}

// slash does what a line says behind its slash; false: there is no such command.
func (m *Model) slash(line string) bool {
	name, rest, _ := strings.Cut(line, " ")
	var names []string
	for _, c := range commands() {
		if c.name == name {
			c.run(m, strings.TrimSpace(rest))
			return true
		}
		names = append(names, c.name)
	}
	hint := "they are /" + strings.Join(names, ", /")
	if near, ok := spelling.Nearest(name, names); ok {
		hint = "did you mean /" + near + "?"
	}
	m.warn(fmt.Sprintf("there is no command /%s: %s; a message that begins with a slash begins with two", name, hint))
	return false
}

func (m *Model) slashStop(rest string) {
	switch mode := cmp.Or(contract.StopMode(rest), contract.AfterStep); {
	case !slices.Contains(enum.Known[contract.StopMode](), mode):
		m.warn(fmt.Sprintf("/stop: %q is none of after_step, after_inference, now", rest))
	case !m.turn.busy():
		m.note("there is no turn in progress")
	default:
		m.wants(wantStop{mode})
	}
}

func (m *Model) slashExtend(rest string) {
	words := strings.Fields(rest)
	session := len(words) > 0 && words[0] == "session"
	if session {
		words = words[1:]
	}
	if options, err := m.cfg.Limits(words); err != nil {
		m.warn("/extend: " + err.Error())
	} else {
		m.wants(wantExtend{options, session})
	}
}

func (m *Model) slashModel(rest string) {
	if rest == "" {
		m.note("answers come from " + m.modelName())
		return
	}
	model, err := m.cfg.ReadModel(rest)
	if err != nil {
		m.warn("/" + err.Error())
		return
	}
	m.model = &model
	m.note(model.String() + " answers from the next turn on")
}

func (m *Model) showCost() {
	v := m.turn.view
	if v.Number == 0 {
		m.note("nothing was used yet")
		return
	}
	own := v.Ledger.Own()
	text := fmt.Sprintf("turn %d: %s, %s", v.Number, render.Counted(v.Steps, "step"), render.Used(", ", v.Usage, v.Cost()))
	m.note(text + render.Within("; limits: ", render.Budget(own.Limit, own.Left), "") + render.Within("; the session: ", render.SessionBudget(v.Ledger), ""))
}

func (m *Model) slashApprove(string) {
	if m.open() == 0 {
		m.note("nothing waits for your word")
	}
	maps.DeleteFunc(m.prompt.hidden, func(_ domain.ToolExecutionID, aside bool) bool { return aside })
	m.wants(wantLook{})
}

func (m *Model) slashHelp(string) {
	for _, c := range commands() {
		m.note(strings.TrimSpace("/"+c.name+" "+c.takes) + ": " + c.does)
	}
	m.note("Ctrl-R shows or folds thoughts, Ctrl-T the steps of sub-agents")
	m.note("Enter sends; Alt-Enter, or Ctrl-J, begins a new line; PgUp, PgDn and the mouse wheel scroll")
	m.note("Ctrl-C stops this turn: what the model is writing is cut off and kept, calls under way finish; twice leaves, as Ctrl-D with nothing typed")
	m.note("with the mouse held by this program, most terminals select text while Shift is held")
}

// slashFork begins another agent with what this one had come to, which goes on as it was.
func (m *Model) slashFork(rest string) {
	var step *int // the last that is complete
	first, message, _ := strings.Cut(rest, " ")
	if n, err := strconv.Atoi(first); err == nil && n >= 0 {
		step = &n
	} else {
		message = rest
	}
	message = strings.TrimSpace(message)
	switch err := domain.CheckPrompt(message); {
	case err != nil || message == "":
		m.warn("/fork: takes a message, with which the other agent begins, as in: /fork try it in another way; with a step of this turn before it, as in: /fork 2 try it")
	case m.turn.number == 0:
		m.note("nothing was said yet that could be forked")
	default:
		m.wants(wantFork{client.Point{ID: m.cfg.ID, Execution: strconv.Itoa(m.turn.number), Step: step}, message})
	}
}

// slashRewind has the session go on from the end of a turn, or from a step of it; without words from before the newest.
func (m *Model) slashRewind(rest string) {
	words := strings.Fields(rest)
	turn, step, ok := m.turn.number, new(int), len(words) <= 2
	if len(words) > 0 {
		n, err := strconv.Atoi(words[0])
		turn, step, ok = n, nil, ok && err == nil && n > 0
	}
	if len(words) == 2 {
		n, err := strconv.Atoi(words[1])
		step, ok = &n, ok && err == nil && n >= 0
	}
	switch {
	case !ok:
		m.warn("/rewind: takes a turn and a step of it, as in: /rewind 2, or /rewind 2 1; without either it takes the newest turn back")
	case turn == 0:
		m.note("nothing was said yet that could be taken back")
	case m.turn.busy() || len(m.outbox)+len(m.inbox.waiting) > 0:
		m.warn("/rewind: a turn is in progress, or messages wait; /stop it first, and /unsend them")
	default:
		m.rewinds = true
		m.wants(wantRewind{client.Point{ID: m.cfg.ID, Execution: strconv.Itoa(turn), Step: step}})
	}
}

// rewound takes what came of it.
func (m *Model) rewound(msg rewound) {
	m.rewinds = false
	if x := msg.done; msg.err != nil {
		m.warn("not rewound: " + m.trouble(msg.err))
	} else {
		m.stands = x.To
		m.note(fmt.Sprintf("the next turn goes on after step %d of turn %d; messages that are taken back, which the model sees no more: %d; /rewind %d undoes it",
			x.To.Step, x.ToNumber, x.TakenBack, x.Undo))
		if text := render.NotUndone(x); text != "" {
			m.warn(text)
		}
	}
	m.look()
}
