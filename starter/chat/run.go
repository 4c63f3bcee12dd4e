package chat

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"everstep/domain"
	"everstep/starter/client"
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
		(&feed{cfg: cfg, give: func(msg tea.Msg) { program.Send(msg) }, news: news}).run(doing)
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

// A feed reads a session as it goes on: what was said, and each execution while it is in progress.
type feed struct {
	cfg  Config
	give func(tea.Msg)
	news <-chan struct{}
	// next is the index of the first message that was not read yet.
	next int
}

const (
	// idleEvery is how often an idle session is looked at, quietEvery after idleLong.
	idleEvery  = 2 * time.Second
	quietEvery = 10 * time.Second
	idleLong   = time.Minute
	// mostRecalled bounds what is shown of what was said before.
	mostRecalled = 500
)

// run reads until the session has ended, or ctx does.
func (f *feed) run(ctx context.Context) {
	if f.cfg.Fresh && !f.pause(ctx, 0) {
		return
	}
	for since := time.Now(); ctx.Err() == nil; {
		status, err := f.cfg.Agents.Status(ctx, f.cfg.ID)
		if err == nil {
			var live domain.ExecutionID
			if status.Status == domain.StatusInProgress {
				live = status.ExecutionID
			}
			f.give(looked{view: status})
			err = f.recall(ctx, live)
		}
		wait := idleEvery
		switch {
		case err != nil && ctx.Err() == nil:
			f.give(lost{why(err)})
			wait = again
		case status.Status == domain.StatusInProgress:
			f.follow(ctx, status.Number, status.ExecutionID)
			since = time.Now()
			continue
		case !status.Open:
			return
		case time.Since(since) > idleLong:
			wait = quietEvery
		}
		if !f.pause(ctx, wait) {
			return
		}
	}
}

// why says in words what keeps the session from being read.
func why(err error) string {
	if client.Is(err, client.Unreachable) {
		return "no worker or no server answers; trying again"
	}
	return err.Error()
}

// pause waits for so long, or until there is news; without a time for news alone.
func (f *feed) pause(ctx context.Context, d time.Duration) bool {
	var over <-chan time.Time
	if d > 0 {
		over = time.After(d)
	}
	select {
	case <-ctx.Done():
		return false
	case <-f.news:
	case <-over:
	}
	return true
}

// recall reads the messages that are new. Of the execution that is live its events show the rest.
func (f *feed) recall(ctx context.Context, live domain.ExecutionID) error {
	read, edits := recalled{live: live}, domain.Edits{}
	if f.next == 0 { // what is taken back later is told then
		edits, _ = f.cfg.Agents.Edits(ctx, f.cfg.ID)
	}
	for entry, err := range f.cfg.Agents.MessagesFrom(ctx, f.cfg.ID, f.next) {
		switch {
		case client.Is(err, client.Gone):
			read.gone = err.Error()
			continue
		case err != nil:
			return err
		}
		if f.next = entry.Index + 1; edits.TookBack(entry.Index) {
			read.takenBack++
			continue
		}
		if read.entries = append(read.entries, entry); len(read.entries) > mostRecalled {
			read.entries, read.gone = read.entries[1:], "what was said before is not shown: "+f.cfg.shell("messages", f.cfg.ID)+" has it all"
		}
	}
	if len(read.entries)+read.takenBack > 0 || read.gone != "" {
		f.give(read)
	}
	return nil
}

// follow gives what happens in an execution until it has ended.
func (f *feed) follow(ctx context.Context, number int, id domain.ExecutionID) {
	for event, err := range f.cfg.Agents.Follow(ctx, f.cfg.ID, client.FollowOptions{Number: number, Tree: true}) {
		if err != nil {
			if ctx.Err() == nil {
				f.give(lost{why(err)})
				f.pause(ctx, again)
			}
			return
		}
		f.give(heard{event})
	}
	// What it has added was shown, but for what was said to it meanwhile. Where that fails the next look reads it.
	_ = f.recall(ctx, id)
}
