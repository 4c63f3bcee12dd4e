package client

import (
	"cmp"
	"context"
	"iter"
	"time"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/progress"
)

// A Past is one execution of an agent, as its history tells of it.
type Past struct {
	Execution
	Status     domain.ExecutionStatus `json:"status"`
	StopReason domain.StopReason      `json:"stop_reason,omitzero"`
	Code       domain.Code            `json:"code,omitzero"`
	// SessionLimit says that it was a limit of the session's budget which ended it.
	SessionLimit bool `json:"session_limit,omitzero"`
	// Steps are those that are over, as far as history tells. It is nil where the server ended the execution.
	Steps *int `json:"step_count"`
	// TotalTokens and CostUSD are nil until the execution has ended; CostUSD also where nobody knows what its model costs.
	TotalTokens *int64  `json:"total_tokens"`
	CostUSD     *string `json:"cost_usd"`
	// StartedAt and EndedAt are zero where nothing tells them, and EndedAt while it is in progress.
	StartedAt time.Time `json:"started_at,omitzero"`
	EndedAt   time.Time `json:"ended_at,omitzero"`
	// Origin is the execution that it goes on from, and after which step, where it does.
	Origin *domain.Origin `json:"origin,omitempty"`
	// NextOrigin is set on the newest where a rewind has left the session so: from where its next execution goes on.
	NextOrigin *domain.Origin `json:"next_origin,omitempty"`
	// TakenBack is set where a rewind has taken the execution, or the steps after one, back.
	TakenBack *TakenBack `json:"taken_back,omitempty"`
	// ImportedAt is when its record came out of a file; zero: it did not.
	ImportedAt time.Time `json:"imported_at,omitzero"`
	// Cleared says that clear has dropped its messages, and no rewind has brought them back.
	Cleared bool `json:"cleared,omitzero"`
	// Agent is who had the conversation in the end, where it was handed over.
	Agent string `json:"agent,omitzero"`
}

// Executions yields the executions of an agent, the oldest first: those of an earlier session of its name where the
// id is NAME@RUN, and of all workflows that an agent without a name has had. It reads their histories and needs no
// worker. Of those that can no longer be read it yields an error of class Gone that says which, and goes on; any
// other error ends it. They come when all were read. What the records tell is not gone.
func (c *Client) Executions(ctx context.Context, id string) iter.Seq2[Past, error] {
	return withTakenBack(c.orKeptExecutions(ctx, id, c.serverExecutions(ctx, id)))
}

func (c *Client) serverExecutions(ctx context.Context, id string) iter.Seq2[Past, error] {
	return sequence(ctx, id, "reading the history of ", func(yield func(Past, error) bool) error {
		p, err := c.locate(ctx, id)
		if err != nil {
			return err
		}
		past := pastScan{position: p, told: map[int]Past{}, origins: map[int]*domain.Origin{}, works: map[int]time.Time{}}
		if err := past.read(ctx, c); err != nil {
			return err
		}
		past.yield(yield)
		return nil
	})
}

// A pastScan collects what histories tell of executions, the newest first.
type pastScan struct {
	position
	told map[int]Past
	// origins are the steps to which the session was rewound, by the execution that goes on from there. forgotten says
	// that what is rewound before is of no effect: the conversation was dropped since, or rewound again.
	origins   map[int]*domain.Origin
	forgotten bool
	// emptied are the rewinds and clears, the newest first.
	emptied []emptying
	// holders are who has had the conversation, the newest first, and lowest is the earliest execution that was met.
	holders []holder
	lowest  int
	// asked is when the first work was asked for that is met since an end, and works are those times of the executions
	// whose beginning nothing else tells: what waited in the queue begins by itself.
	asked time.Time
	works map[int]time.Time
}

// A holder is an agent that had the conversation from an execution on; empty: the session's own.
type holder struct {
	agent string
	// in is the execution in which it was handed over; zero: from is the number of the first.
	in   domain.ExecutionID
	from int
}

// heldBy is who had the conversation at the end of an execution.
func (s *pastScan) heldBy(number int) string {
	for _, h := range s.holders {
		from := h.from
		for n, one := range s.told {
			if !h.in.IsZero() && one.ExecutionID == h.in {
				from = n
			}
		}
		if (h.in.IsZero() || from > 0) && from <= number {
			return h.agent
		}
	}
	return ""
}

// An emptying is a clear, or a rewind, which may undo one.
type emptying struct {
	// to is the number of the execution that a rewind went to; zero of a clear.
	to int
	// after is the number of the newest execution that had ended by then; zero: none is told.
	after int
}

// cleared is the newest execution of which a clear has dropped all, that no rewind to before has undone since.
func (s *pastScan) cleared() int {
	back := s.number + 1 // the earliest execution that was gone back to since
	for _, e := range s.emptied {
		switch {
		case e.to > 0:
			back = min(back, e.to)
		case e.after < back:
			return e.after
		}
	}
	return 0
}

// read goes back as far as there are runs.
func (s *pastScan) read(ctx context.Context, c *Client) error {
	for run := s.runID(); run != ""; {
		previous := ""
		for recorded, err := range c.reader(s.agent).Backwards(ctx, run) {
			if deleted(err) {
				break
			}
			if err != nil {
				return err
			}
			s.take(recorded)
			if began, ok := recorded.Fact.(progress.RunBegan); ok {
				previous = began.Previous()
			}
		}
		run = previous
	}
	s.newestOne()
	return nil
}

func (s *pastScan) take(r progress.Recorded) {
	if outcome, ok := progress.OutcomeOf(r.Fact); ok {
		s.outcomes(outcome, r)
	}
	switch f := r.Fact.(type) {
	case progress.Asked:
		if f.Listing != nil || f.Model != nil {
			s.asked = r.At
		}
	case progress.Sent:
		if f.Reply.Began {
			s.began(f.Reply.Number, f.Reply.ExecutionID, r, nil)
		}
	case progress.Extended:
		if f.Reply.Began {
			s.began(f.Reply.Number, f.Reply.ExecutionID, r, &domain.Origin{})
		}
	case progress.RunBegan:
		s.runBegan(f, r)
	case progress.Cleared:
		s.forgotten = true
		s.emptied = append(s.emptied, emptying{})
	case progress.Rewound:
		s.rewound(f, r)
		s.emptied = append(s.emptied, emptying{to: f.Request.Number})
	case progress.HandedOver:
		if f.Why == nil && f.Handoff != nil {
			s.holders = append(s.holders, holder{agent: f.Handoff.Agent, in: f.Execution()})
		}
	case progress.Redefined:
		if len(f.Request.Fields) == 0 { // from the execution on that began next
			s.holders = append(s.holders, holder{from: cmp.Or(s.lowest, s.number+1)})
		}
	case progress.Ended:
		s.forgotten = false
		if _, told := s.works[f.Outcome.Number+1]; !told {
			s.works[f.Outcome.Number+1] = s.asked
		}
		s.asked = time.Time{}
	}
}

// rewound takes from where the next execution goes on, unless something that came later says otherwise.
func (s *pastScan) rewound(f progress.Rewound, r progress.Recorded) {
	if f.Began() {
		s.began(f.Number(), domain.ExecutionID{}, r, nil)
	}
	if _, told := s.origins[f.Number()]; !told && !s.forgotten {
		s.origins[f.Number()] = f.Origin()
	}
	s.forgotten = true
}

// runBegan takes what a run began, or took over.
func (s *pastScan) runBegan(f progress.RunBegan, r progress.Recorded) {
	if !f.Readable() {
		return
	}
	took := progress.Carried(f.Input)
	if carry := f.Input.Carry; carry != nil && carry.Handed != nil && f.Previous() == "" {
		s.holders = append(s.holders, holder{agent: carry.Handed.Agent})
	}
	var origin *domain.Origin
	switch {
	case took.Begins && f.Input.GoOn != nil:
		origin = &domain.Origin{ExecutionID: took.Execution, Step: took.Steps}
	case took.Branch != nil:
		origin = took.Branch
	case took.Open && !took.Origin.IsZero():
		origin = &domain.Origin{ExecutionID: took.Origin}
	}
	if took.RewoundTo != nil && !s.forgotten {
		s.origins[took.Number+1] = took.RewoundTo
	}
	switch {
	case took.Begins:
		s.began(took.Number, domain.ExecutionID{}, r, origin)
	case took.Open:
		r.At = took.StartedAt
		s.began(took.Number, took.Execution, r, origin)
	}
}

// of is what is told of an execution until now.
func (s *pastScan) of(number int, r progress.Recorded) Past {
	one, ok := s.told[number]
	if !ok {
		one.Execution = s.begun(number, domain.ExecutionID{}, r.Run)
	}
	return one
}

func (s *pastScan) began(number int, id domain.ExecutionID, r progress.Recorded, origin *domain.Origin) {
	s.lowest = number
	one := s.of(number, r)
	one.StartedAt = r.At
	if one.ExecutionID.IsZero() {
		one.ExecutionID = id
	}
	if origin != nil {
		one.Origin = origin
	}
	s.told[number] = one
}

// outcomes takes how an execution ended. When it did is told by its memo, which is written at once: a session's run may
// end long after.
func (s *pastScan) outcomes(o contract.Outcome, r progress.Recorded) {
	if o.Number < 1 || !o.Status.Terminal() {
		return
	}
	for i := range s.emptied {
		s.emptied[i].after = cmp.Or(s.emptied[i].after, o.Number)
	}
	one := s.of(o.Number, r)
	one.ExecutionID, one.Status, one.StopReason, one.Code, one.SessionLimit = o.ExecutionID, o.Status, o.StopReason, o.Code, o.SessionLimit
	one.Steps, one.TotalTokens, one.CostUSD = &o.Steps, new(o.Usage.TotalTokens()), costInUSD(o)
	switch r.Fact.(type) {
	case progress.Ended:
		one.EndedAt, one.RunID = r.At, r.Run
	case progress.RunEnded:
		if one.EndedAt.IsZero() && s.name == "" {
			one.EndedAt = r.At
		}
	}
	s.told[o.Number] = one
}

// newestOne completes the newest execution, which may be in progress, or have been ended by the server.
func (s *pastScan) newestOne() {
	if s.number < 1 {
		return
	}
	one := s.of(s.number, progress.Recorded{Run: s.runID()})
	if one.ExecutionID.IsZero() {
		one.ExecutionID = s.executionID(s.number)
	}
	if s.ended == nil {
		one.Status = domain.StatusInProgress
		if s.step > 0 {
			one.Steps = new(s.step - 1)
		}
	} else if s.byServer {
		one.Status, one.StopReason, one.Code = s.ended.Status, s.ended.StopReason, s.ended.Code
		one.EndedAt = s.info().GetCloseTime().AsTime()
	}
	s.told[s.number] = one
}

// yield tells of all executions in their order.
func (s *pastScan) yield(yield func(Past, error) bool) {
	cleared, missing := s.cleared(), 0 // the first of those that are gone
	for n := 1; n <= s.number+1; n++ {
		one, ok := s.told[n]
		if ok = ok && one.Status != ""; !ok && n <= s.number {
			if missing == 0 {
				missing = n
			}
			continue
		}
		if missing > 0 && !yield(Past{}, s.goneFrom(missing, n-1)) {
			return
		}
		if missing = 0; !ok {
			return
		}
		if from := s.origins[n]; from != nil {
			one.Origin = from
		}
		if one.StartedAt.IsZero() {
			one.StartedAt = s.works[n]
		}
		one.Cleared, one.Agent = n <= cleared, s.heldBy(n)
		if n == s.number {
			one.NextOrigin = s.origins[n+1]
		}
		if !yield(s.goingOn(n, one), nil) {
			return
		}
	}
}

// goingOn completes the origin of an execution that goes on from the one before, of which its beginning tells nothing.
func (s *pastScan) goingOn(n int, one Past) Past {
	if one.Origin == nil || one.Origin.Step > 0 || !one.Origin.AgentID.IsZero() {
		return one
	}
	before := s.told[n-1]
	if one.Origin.ExecutionID.IsZero() && before.ExecutionID.IsZero() {
		one.Origin = &domain.Origin{ExecutionID: s.executionID(n - 1)}
	} else if one.Origin.ExecutionID.IsZero() || one.Origin.ExecutionID == before.ExecutionID {
		one.Origin = &domain.Origin{ExecutionID: before.ExecutionID}
		if before.Steps != nil {
			one.Origin.Step = *before.Steps
		}
	}
	return one
}

func (s *pastScan) goneFrom(first, last int) *Error {
	const why = "the server has deleted the runs in which they were"
	if first == last {
		return gone("execution %d of %s can no longer be read: the server has deleted the run in which it was", first, s.called())
	}
	return gone("executions %d to %d of %s can no longer be read: %s", first, last, s.called(), why)
}
