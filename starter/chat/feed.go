package chat

import (
	"context"
	"errors"
	"time"

	tea "charm.land/bubbletea/v2"

	"everstep/domain"
	"everstep/starter/client"
)

// A feed reads a session as it goes on: what was said, and each execution while it is in progress.
type feed struct {
	agents *client.Client
	id     string
	fresh  bool
	give   func(tea.Msg)
	news   <-chan struct{}
	// next is the index of the first message that was not read yet.
	next int
	// messages is the command line that shows all that was said.
	messages string
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
	if f.fresh && !f.pause(ctx, 0) {
		return
	}
	for since := time.Now(); ctx.Err() == nil; {
		status, err := f.agents.Status(ctx, f.id)
		if err == nil {
			f.give(looked{view: status})
			err = f.recall(ctx, live(status.Status, status.ExecutionID))
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
	if errors.Is(err, &client.Error{Class: client.Unreachable}) {
		return "no worker or no server answers; trying again"
	}
	return err.Error()
}

// pause waits for so long, or until there is news; without a time for news alone.
func (f *feed) pause(ctx context.Context, d time.Duration) bool {
	var over <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		over = timer.C
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
		edits, _ = f.agents.Edits(ctx, f.id)
	}
	for entry, err := range f.agents.MessagesFrom(ctx, f.id, f.next) {
		switch {
		case errors.Is(err, &client.Error{Class: client.Gone}):
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
			read.entries, read.gone = read.entries[1:], "what was said before is not shown: "+f.messages+" has it all"
		}
	}
	if len(read.entries)+read.takenBack > 0 || read.gone != "" {
		f.give(read)
	}
	return nil
}

// follow gives what happens in an execution until it has ended.
func (f *feed) follow(ctx context.Context, number int, id domain.ExecutionID) {
	for event, err := range f.agents.Follow(ctx, f.id, client.FollowOptions{Number: number, Tree: true}) {
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
