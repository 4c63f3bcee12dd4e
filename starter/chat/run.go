package chat

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
)

// A Terminal is where a conversation is held.
type Terminal struct {
	In      io.Reader
	Out     io.Writer
	Environ []string
}

// Remark tells the person something that comes from elsewhere.
type Remark func(text string, warns bool)

// Run holds a conversation until the person leaves, ctx ends, or failed says why it cannot go on. begun is given what
// shows remarks meanwhile.
func Run(ctx context.Context, cfg Config, on Terminal, failed <-chan error, begun func(Remark)) (Ending, error) {
	doing, cancel := context.WithCancel(ctx)
	news := make(chan struct{}, 1)
	h := &held{Model: New(cfg), performer: &performer{ctx: doing, cfg: cfg, opening: cfg.Opening, news: news}}
	program := tea.NewProgram(h, tea.WithContext(ctx), tea.WithInput(on.In), tea.WithOutput(on.Out), tea.WithEnvironment(on.Environ), tea.WithoutSignalHandler())
	begun(func(text string, warns bool) { program.Send(remark{text, warns}) })
	var beside sync.WaitGroup
	beside.Go(func() {
		(&feed{agents: cfg.Agents, id: cfg.ID, fresh: cfg.Fresh, give: func(msg tea.Msg) { program.Send(msg) }, news: news, messages: cfg.shell("messages", cfg.ID)}).run(doing)
	})
	beside.Go(func() {
		select {
		case err := <-failed:
			program.Send(broken{err})
		case <-doing.Done():
		}
	})
	_, err := program.Run()
	cancel()
	beside.Wait()
	ending, failure := h.Ending()
	switch {
	case failure != nil:
		return ending, failure
	case ctx.Err() != nil || errors.Is(err, io.EOF):
		return ending, nil // the terminal was closed, or the process is told to end
	}
	return ending, err
}

// held is a conversation on a terminal.
type held struct {
	*Model
	performer *performer
}

// Init begins to count the seconds.
func (h *held) Init() tea.Cmd { return second() }

func second() tea.Cmd { return tea.Tick(time.Second, func(time.Time) tea.Msg { return tick{} }) }

// Update takes what happens next, and has done what follows from it.
func (h *held) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmds []tea.Cmd
	if _, ok := msg.(tick); ok {
		cmds = append(cmds, second())
	}
	for _, w := range h.take(msg) {
		cmds = append(cmds, func() tea.Msg { return h.performer.do(w) })
	}
	return h, tea.Batch(cmds...)
}
