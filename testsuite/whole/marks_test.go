package whole_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/record"
	"everstep/activities/tool"
	"everstep/domain"
	"everstep/starter/client"
	"everstep/starter/render"
	"everstep/worker/host"
)

// A markedSession is a session on a server beside what it has to be: the indexes of what its next request shows.
type markedSession struct {
	id         string
	length     int
	shown      []int
	executions []markedExecution
	// stands is the end to which a rewind has led it, or where a clear has left it; nil: the end of its newest execution.
	stands *markedPlace
}

// A markedExecution has its messages from one up to another, and the places before its prompt and after each step.
type markedExecution struct {
	from, to int
	places   []markedPlace
}

type markedPlace struct {
	length int
	shown  []int
}

// A markedPlay draws what is done with some sessions.
type markedPlay struct {
	*stack
	t          *testing.T
	drawn      *rand.Rand
	name       string
	prompts    int
	definition domain.Definition
	sessions   []*markedSession
}

func (p *markedPlay) named() string {
	return p.stack.named(fmt.Sprintf("%s-%d", p.name, len(p.sessions)+1))
}

func (p *markedPlay) prompt() string {
	p.prompts++
	return fmt.Sprintf("p%d", p.prompts)
}

func (p *markedPlay) entries(id string) []domain.Entry {
	return collect(p.t, p.agents.Messages(within(p.t), id))
}

// played waits for an execution, whose first request has to hold what the session has shown and the prompt.
func (p *markedPlay) played(s *markedSession, x client.Execution, prompt string) {
	p.ended(p.t, x)
	all, steps := p.entries(s.id), collect(p.t, p.agents.Steps(within(p.t), s.id, x.Number))
	want, request := []string{}, []string{}
	for _, i := range s.shown {
		want = append(want, all[i].Message.ID.String())
	}
	asked := steps[0].Step.Input.Compile(nil, all, nil)
	for _, m := range asked {
		request = append(request, m.ID.String())
	}
	require.Equal(p.t, want, request[:len(request)-1], "the first request of execution %d of %s", x.Number, s.id)
	require.Equal(p.t, prompt, asked[len(asked)-1].Text())

	played := markedExecution{from: s.length, to: len(all), places: []markedPlace{{s.length, s.shown}}}
	shown, ends := s.shown, map[domain.StepID]int{}
	for _, e := range all[s.length:] {
		ends[domain.TagOf(e.Message).StepID] = e.Index + 1
	}
	for _, step := range steps {
		for end := ends[step.Step.ID]; s.length < end; s.length++ {
			shown = append(slices.Clip(shown), s.length)
		}
		played.places = append(played.places, markedPlace{s.length, shown})
	}
	require.Equal(p.t, len(all), s.length)
	s.shown, s.stands, s.executions = shown, nil, append(s.executions, played)
}

func (p *markedPlay) begin() {
	s := &markedSession{id: p.named()}
	p.start(s, client.Start{})
}

func (p *markedPlay) start(s *markedSession, start client.Start) {
	start.ID, start.Prompt, start.Definition = s.id, p.prompt(), p.definition
	x, err := p.agents.Start(within(p.t), start)
	require.NoError(p.t, err)
	p.played(s, x, start.Prompt)
	p.sessions = append(p.sessions, s)
}

func (p *markedPlay) send(s *markedSession) {
	prompt := p.prompt()
	x, err := p.agents.Send(within(p.t), s.id, client.SendOptions{Prompt: prompt})
	require.NoError(p.t, err)
	p.played(s, x, prompt)
}

func (p *markedPlay) clear(s *markedSession) {
	cleared, err := p.agents.Clear(within(p.t), s.id)
	require.NoError(p.t, err)
	require.Equal(p.t, len(s.shown), cleared.Messages)
	s.shown, s.stands = nil, &markedPlace{}
}

// somewhere draws a place of a session's past.
func (p *markedPlay) somewhere(s *markedSession) (client.Point, markedPlace) {
	n := p.drawn.IntN(len(s.executions))
	step := p.drawn.IntN(len(s.executions[n].places))
	return client.Point{ID: s.id, Execution: strconv.Itoa(n + 1), Step: &step}, s.executions[n].places[step]
}

func (p *markedPlay) rewind(s *markedSession) {
	point, to := p.somewhere(s)
	var o client.RewindOptions
	if p.drawn.IntN(3) == 0 {
		o.Prompt = p.prompt()
	}
	rewound, err := p.agents.Rewind(within(p.t), point, o)
	require.NoError(p.t, err)
	if s.shown, s.stands = to.shown, &to; o.Prompt != "" {
		p.played(s, rewound.Execution, o.Prompt)
	}
}

// fork begins another session from somewhere, or from where this one stands.
func (p *markedPlay) fork(s *markedSession) {
	point, at := client.Point{ID: s.id}, s.executions[len(s.executions)-1].places[len(s.executions[len(s.executions)-1].places)-1]
	switch {
	case p.drawn.IntN(2) == 0:
		point, at = p.somewhere(s)
	case s.stands != nil:
		at = *s.stands
	}
	forked := &markedSession{id: p.named(), length: at.length, shown: at.shown}
	prompt := p.prompt()
	x, err := p.agents.Fork(within(p.t), point, client.ForkOptions{ID: forked.id, Prompt: prompt})
	require.NoError(p.t, err)
	p.played(forked, x, prompt)
	p.sessions = append(p.sessions, forked)
}

// copied begins another session with the messages that are handed out of this one, as a state or as lines.
func (p *markedPlay) copied(s *markedSession) {
	if len(s.shown) == 0 {
		p.begin()
		return
	}
	var start client.Start
	if p.drawn.IntN(2) == 0 {
		state, err := p.agents.State(within(p.t), s.id)
		require.NoError(p.t, err)
		start, err = start.WithState(state)
		require.NoError(p.t, err)
	} else {
		edits, err := p.agents.Edits(within(p.t), s.id)
		require.NoError(p.t, err)
		var lines bytes.Buffer
		for _, e := range p.entries(s.id) {
			require.NoError(p.t, json.NewEncoder(&lines).Encode(render.Said(e, edits)))
		}
		start.Messages, err = client.ReadMessages(lines.Bytes())
		require.NoError(p.t, err)
	}
	copied := &markedSession{id: p.named(), length: len(s.shown)}
	for i := range s.shown {
		copied.shown = append(copied.shown, i)
	}
	p.start(copied, start)
}

// exported reads a session where it was imported.
func (p *markedPlay) exported(s *markedSession) {
	x, err := p.agents.Export(within(p.t), s.id, 0)
	require.NoError(p.t, err)
	require.Empty(p.t, x.Gone)
	var file bytes.Buffer
	require.NoError(p.t, record.Write(&file, x.Records...))
	store := storeAt(p.t, filepath.Join(p.t.TempDir(), "imported"))
	_, err = record.Import(within(p.t), store, record.All(bytes.NewReader(file.Bytes())), time.Now())
	require.NoError(p.t, err)
	if len(x.Records[0].Messages) > 0 && x.Records[0].Messages[0].Index == 0 { // else its origin has the messages before
		p.check(client.OfRecords(client.Config{Records: store}, errors.New("server: none is asked")), s)
	}
}

// check compares what is marked of a session with what its next request has to hold.
func (p *markedPlay) check(c *client.Client, s *markedSession) {
	edits, err := c.Edits(within(p.t), s.id)
	require.NoError(p.t, err)
	var shown []int
	for _, e := range collect(p.t, c.Messages(within(p.t), s.id)) {
		if edits.Mark(&e) == "" {
			shown = append(shown, e.Index)
		}
	}
	require.Equal(p.t, s.shown, shown, "what is not marked of %s", s.id)
	state, err := c.State(within(p.t), s.id)
	require.NoError(p.t, err)
	require.Len(p.t, state.Messages(), len(s.shown))
	for n, past := range collect(p.t, c.Executions(within(p.t), s.id)) {
		x, kept := s.executions[n], 0
		for _, i := range s.shown {
			if x.from <= i && i < x.to {
				kept++
			}
		}
		require.Equal(p.t, kept < x.to-x.from, past.Cleared || past.TakenBack != nil, "execution %d of %s", n+1, s.id)
		if past.TakenBack != nil && past.TakenBack.AfterStep > 0 {
			require.Equal(p.t, x.from+kept, x.places[past.TakenBack.AfterStep].length, "execution %d of %s", n+1, s.id)
		} else if past.Cleared || past.TakenBack != nil {
			require.LessOrEqual(p.t, kept, 1, "execution %d of %s", n+1, s.id)
		}
	}
}

// TestMarksAreTheNextRequestOnAServer, whatever is done with sessions, in any order. EVERSTEP_ORDERS says how many orders are
// played.
func TestMarksAreTheNextRequestOnAServer(t *testing.T) {
	t.Parallel()
	orders := 3
	if text := os.Getenv("EVERSTEP_ORDERS"); text != "" {
		var err error
		orders, err = strconv.Atoi(text)
		require.NoError(t, err, "EVERSTEP_ORDERS")
	}
	s := start(t, host.Config{Tools: []tool.Tool{echo()}})
	definition := scripted(writeScript(t, "turns:\n"+strings.Repeat("  - {text: look, tool_calls: [{name: echo, arguments: {text: a}}]}\n  - {text: seen}\n", 40)), "echo")
	for n := range orders {
		t.Run(strconv.Itoa(n), func(t *testing.T) { //nolint:paralleltest // they share the stack's list of what it ran
			p := &markedPlay{stack: s, t: t, drawn: rand.New(rand.NewPCG(7, uint64(n))), name: fmt.Sprintf("order-%d", n), definition: definition}
			p.begin()
			for range 8 {
				at := p.sessions[p.drawn.IntN(len(p.sessions))]
				change := []func(*markedSession){p.send, p.send, p.clear, p.rewind, p.rewind, p.fork, p.copied, p.exported}[p.drawn.IntN(8)]
				change(at)
				p.check(p.agents, at)
			}
		})
	}
}
