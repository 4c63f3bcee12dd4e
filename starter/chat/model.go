package chat

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client"
	"everstep/starter/render"
)

// A Config says with whom one converses, and how.
type Config struct {
	Agents *client.Client
	// ID is the agent's name.
	ID string
	// Fresh says that no session of the name is open: the first message begins it.
	Fresh bool
	// Opening begins the session, or is compared with the one that is open, with the first message; its prompt is left
	// out. Nil: an open session is taken as it is.
	Opening *client.Start
	// Model is who is to answer from the first message on, and Budget what each turn may use.
	Model  *domain.LLMConfig
	Budget domain.ExecutionBudget
	// By is who decides about calls.
	By string
	// Limits reads totals of limits, and ReadModel a model, as a person writes them.
	Limits    func(words []string) (client.ExtendOptions, error)
	ReadModel func(text string) (domain.LLMConfig, error)
	// Again is a command line of the program as the person would write it.
	Again func(words ...string) string
	Theme render.Theme
	Now   func() time.Time
}

// An Ending is how a conversation was left.
type Ending struct {
	// Number is the execution in progress; zero: none is.
	Number int
	// Begun says that there is a session, and Over that it has ended.
	Begun, Over bool
	// Unsent is what was typed and the session does not have.
	Unsent []string
}

// A Model is the conversation with all that is on the screen. It is used by one goroutine.
type Model struct {
	cfg          Config
	conversation conversation
	turn         turn
	// prompt asks the person here about what waits.
	prompt prompt
	// pending is what of the agent itself waits for the person, and subagents those below it.
	pending   []domain.Wait
	subagents subagents
	// outbox holds what was typed until the session has it, in order. The first alone is sent.
	outbox   []letter
	inbox    inbox
	composer composer
	screen   screen
	// echoes are messages that were sent here and come back when the session is read, by the execution that each began: they are
	// shown once.
	echoes map[domain.ExecutionID]string
	// read is the newest execution whose beginning was read back.
	read    domain.ExecutionID
	inquiry inquiry
	// stands is the step to which the session was rewound, as far as is told; zero: none.
	stands domain.Origin
	// rewinds says that a rewind from here is under way, which tells of itself.
	rewinds bool
	// model answers from the next message on; nil: who does by now.
	model *domain.LLMConfig
	// costAsked says that the person wants to see what the agent says of its cost.
	costAsked bool
	// interrupted is when Ctrl-C was pressed last.
	interrupted time.Time
	failure     error
	// left is how the newest turn had ended when the agent told of itself for the first time, to be shown below what is read back.
	left string
	// wanted is what is to be done after what happened last.
	wanted []want
}

// An inquiry is what the agent is asked about itself, one question at a time.
type inquiry struct {
	// underway says that it was asked, and stale that more has happened since.
	underway, stale bool
}

// ask asks it of an agent, or of the sub-agent that is named, one question at a time.
func (m *Model) ask(i *inquiry, of domain.AgentID) {
	if i.underway {
		i.stale = true
		return
	}
	*i = inquiry{underway: true}
	m.wants(wantLook{of: of})
}

// New returns a conversation of which nothing was read yet.
func New(cfg Config) *Model {
	m := &Model{cfg: cfg, composer: newComposer(cfg.Theme), prompt: prompt{hidden: map[domain.ToolExecutionID]bool{}}, echoes: map[domain.ExecutionID]string{}, model: cfg.Model}
	if cfg.Fresh {
		m.turn.phase = fresh
		m.note(cfg.ID + " is a new session, which your first message begins")
	}
	return m
}

// leaveWithin is how soon after the first Ctrl-C another one leaves.
const leaveWithin = 2 * time.Second

// take takes what happens next, and returns what is to be done.
func (m *Model) take(msg tea.Msg) []want {
	m.wanted = nil
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.screen.width, m.screen.height = msg.Width, msg.Height
		m.composer.area.SetWidth(msg.Width)
	case tea.MouseWheelMsg:
		m.screen.scroll(map[tea.MouseButton]int{tea.MouseWheelUp: 3, tea.MouseWheelDown: -3}[msg.Button])
	case tea.KeyPressMsg:
		m.pressed(msg)
	case tea.PasteMsg:
		m.types(msg)
	case recalled:
		m.recalled(msg)
	case heard:
		if msg.AgentID.IsZero() {
			m.heard(msg.Event)
		} else {
			m.heardBelow(msg.Event, false)
		}
	case retold:
		m.retold(msg)
	case looked:
		if msg.of.IsZero() {
			m.looked(msg)
		} else {
			m.lookedAt(msg)
		}
	case lost:
		m.turn.away = render.OneLine(msg.why)
	case sent:
		m.sent(msg)
	case did:
		if msg.err != nil {
			m.warn(m.trouble(msg.err))
		} else if msg.what != "" {
			m.note(msg.what)
		}
		m.look()
	case replied:
		m.answered(msg)
	case unsent:
		if msg.err != nil {
			m.warn("not taken back: " + m.trouble(msg.err))
		} else if p, waited := m.inbox.drop(msg.id); waited {
			m.handBack("taken back", p.Text)
		}
		m.look()
	case rewound:
		m.rewound(msg)
	case remark:
		if msg.warns {
			m.warn(msg.text)
		} else {
			m.note(msg.text)
		}
	case broken:
		m.failure = msg.err
		m.wants(wantLeave{})
	}
	if one, _ := m.first(); one.ToolExecutionID != m.prompt.on { // another one is shown from now on
		m.prompt.on, m.prompt.shown = one.ToolExecutionID, m.cfg.Now()
	}
	return m.wanted
}

// wants has something done.
func (m *Model) wants(w want) { m.wanted = append(m.wanted, w) }

// note and warn tell the person something.
func (m *Model) note(text string) { m.conversation.note(text) }
func (m *Model) warn(text string) { m.conversation.warn(text) }

func (m *Model) recalled(msg recalled) {
	if msg.gone != "" {
		m.warn(msg.gone)
	}
	if msg.takenBack > 0 {
		m.note(render.Counted(msg.takenBack, "message") + " that a rewind has taken back: " + m.cfg.shell("messages", m.cfg.ID) + " shows them")
	}
	for _, entry := range msg.entries {
		of, users := domain.TagOf(entry.Message).ExecutionID, entry.Message.Role == domain.RoleUser
		text, ours := m.echoes[of]
		switch {
		case users && ours && entry.Message.Text() == text:
			delete(m.echoes, of) // it is shown
		case users && m.inbox.recalls(entry.Message):
		case !users && msg.live == of && !of.IsZero(): // its events show it
		default:
			m.conversation.recall(entry.Message)
			if users {
				m.read = of
			}
		}
	}
	if m.left != "" {
		m.note(m.left)
		m.left = ""
	}
	m.retells(msg)
}

// heard takes an event of the execution that is followed.
func (m *Model) heard(e client.Event) {
	m.conversation.heard(e)
	m.subagents.told(&m.conversation, e)
	m.turn.heard(e)
	m.messaged(e)
	switch e.Type {
	case domain.EventWaitClosed:
		m.decided(e.ToolExecutionID)
		m.look()
	case domain.EventExecutionCompleted, domain.EventExecutionFailed, client.EventEnded:
		m.pending = nil
		for _, sub := range m.subagents {
			sub.stopsWaiting()
		}
		if o := e.Ended; o != nil && !o.Closed {
			if hint := goOn(o.Status, o.StopReason, o.SessionLimit); hint != "" {
				m.conversation.add(&part{kind: noted, text: hint, number: e.Number})
			}
		}
		m.look()
		m.send()
	case domain.EventWaitOpened, domain.EventStepStarted, domain.EventInferenceReceived, domain.EventSubagentCompleted: // its cost counts here now
		m.look()
	default:
	}
}

// look asks the agent about itself.
func (m *Model) look() { m.ask(&m.inquiry, domain.AgentID{}) }

func (m *Model) looked(msg looked) {
	m.inquiry.underway = false
	if msg.err == nil {
		first := m.turn.view.Number == 0
		if first && m.turn.phase == unknown && msg.view.Status != domain.StatusInProgress && msg.view.Open {
			m.left = leftBy(msg.view)
		}
		m.turn.told(msg.view)
		m.pending = msg.view.Waits
		m.inbox.told(msg.view)
		switch from := msg.view.Position.From; {
		case from == nil:
			m.stands = domain.Origin{}
		case m.stands != *from && !m.rewinds:
			m.stands = *from
			m.note(fmt.Sprintf("the session was rewound: the next turn goes on after step %d of execution %s", from.Step, from.ExecutionID))
		}
	}
	if m.costAsked {
		m.costAsked = false
		m.showCost()
	}
	if m.inquiry.stale {
		m.look()
	}
	m.send()
}

// send sends the next message where the agent takes one now: one that begins a turn or, while one is in progress, waits
// for its next step or its end. What would join it is for the turn that is seen here, and for no other.
func (m *Model) send() {
	steers := m.turn.busy() && !m.turn.execution.IsZero()
	if m.turn.phase != fresh && m.turn.phase != idle && !steers || len(m.outbox) == 0 || m.outbox[0].underway {
		return
	}
	m.outbox[0].underway = true
	next := m.outbox[0].wantSend
	switch {
	case !steers:
	case next.queued || next.model != nil: // no message changes the model of a turn in progress
		next.delivery = contract.QueueIfBusy
	default:
		next.delivery, next.execution = contract.SteerIfBusy, m.turn.execution
	}
	m.wants(next)
}

// maxRefused is how often a message is tried that the session does not take.
const maxRefused = 3

func (m *Model) sent(msg sent) {
	l, x := &m.outbox[0], msg.execution
	l.refused++
	if client.Is(msg.err, client.Refused) && l.refused < maxRefused && m.turn.phase != over { // another may have begun a turn just now
		l.underway = false
		m.turn.phase = unknown
		m.look()
		return
	}
	m.outbox = m.outbox[1:]
	switch {
	case msg.err != nil:
		m.warn("not sent: " + m.trouble(msg.err))
		m.handBack("the message was", l.text)
		m.look()
		return
	case !x.Waits.IsZero():
		m.inbox.add(pending{contract.WaitingView{ID: x.Waits, Delivery: msg.delivery, Bytes: len(l.text), Text: l.text}, true})
		if l.model != nil {
			m.model = nil
		}
		m.send()
		return
	}
	if x.ExecutionID.IsZero() || x.ExecutionID != m.read { // else it was read back already
		m.conversation.add(&part{kind: said, text: l.text})
		m.echoes[x.ExecutionID] = l.text
	}
	m.model = nil
	m.turn.begins(x.Number)
	m.turn.execution = x.ExecutionID
	m.send()
}

// interrupt is Ctrl-C: it stops the turn in progress, and the second one leaves.
func (m *Model) interrupt() {
	now := m.cfg.Now()
	switch {
	case now.Sub(m.interrupted) < leaveWithin:
		m.wants(wantLeave{})
	case !m.turn.busy(): // the line below says what another one does
	case m.turn.phase == calls || m.open() > 0: // what is under way may have an effect
		m.wants(wantStop{contract.AfterInference})
	default:
		m.wants(wantStop{contract.StopNow})
	}
	m.interrupted = now
}

// Ending says how the conversation is left now.
func (m *Model) Ending() (Ending, error) {
	e := Ending{Begun: m.turn.phase != fresh, Over: m.turn.phase == over}
	if m.turn.busy() {
		e.Number = m.turn.number
	}
	for _, l := range m.outbox {
		e.Unsent = append(e.Unsent, l.text)
	}
	typed := m.composer.value()
	if m.composer.about != nil {
		typed = m.composer.draft
	}
	if typed = strings.TrimSpace(typed); typed != "" {
		e.Unsent = append(e.Unsent, typed)
	}
	return e, m.failure
}

func (m *Model) modelName() string {
	switch {
	case m.model != nil:
		return m.model.String()
	case m.turn.view.Configuration.Model != "":
		return m.turn.view.Configuration.Model
	case m.cfg.Opening != nil:
		return m.cfg.Opening.Definition.Model.String()
	}
	return "the session's model"
}
