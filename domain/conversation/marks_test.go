package conversation_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/conversation"
)

// A place is what a session came to at a point of its past, as a client reads it for a rewind or a fork, and by the model of
// this test: the indexes of what is on the present path, what each message is marked as that is not, and the indexes of what
// the next request shows, in its order.
type place struct {
	execution, step, length, inferences int
	edits                               domain.Edits
	path, shown                         []int
	back                                []domain.Mark
}

// A played execution has its messages from one up to another, and the place before its prompt and after each step.
type played struct {
	from, to int
	places   []place
}

// A modelled session is a conversation beside what it has to be.
type modelled struct {
	c           conversation.Conversation
	r           *contract.Resolved
	executions  []played
	path, shown []int
	back        []domain.Mark
	// stands is where a rewind has left the session; nil: at its end. cleared says that a clear has.
	stands  *place
	cleared bool
}

func (s *modelled) next() int { return len(s.executions) + 1 }

func (s *modelled) here(execution, step int, edits domain.Edits) place {
	return place{execution, step, s.c.Len(), s.c.Inferences(), edits, slices.Clone(s.path), slices.Clone(s.shown), slices.Clone(s.back)}
}

// add appends a message, which the model is shown last.
func (s *modelled) add(section string, m domain.Message) {
	at := s.c.Len()
	s.c = s.c.Append(section, domain.Tag{ExecutionID: executionID(s.next())}.Apply(m), domain.DigestOf(fmt.Append(nil, at, m.Text())))
	s.path, s.shown, s.back = append(slices.Clip(s.path), at), append(slices.Clip(s.shown), at), append(slices.Clip(s.back), "")
}

// play is an execution of some steps, before which the conversation may be summed up.
func (s *modelled) play(t *rapid.T) {
	number := s.next()
	s.c = s.c.WithExecution(chain(number), false, s.r)
	x := played{from: s.c.Len(), places: []place{s.here(number, 0, s.c.Edits())}}
	s.add("", domain.UserMessage(fmt.Sprintf("prompt %d %s", number, words(rapid.IntRange(1, 60).Draw(t, "prompt")))))
	for step := range rapid.IntRange(1, 3).Draw(t, "steps") {
		if rapid.IntRange(0, 4).Draw(t, "summed up") == 0 {
			s.sumUp()
		}
		edits := s.c.StepInput().Edits
		if rapid.Bool().Draw(t, "call") {
			at := s.c.Len()
			m := domain.Message{Role: domain.RoleAssistant, ToolCalls: []domain.ToolCall{{ID: fmt.Sprint(at), Name: "look", Arguments: "{}"}}}
			s.add("", m)
			s.add("", domain.ToolMessage(domain.ToolResult{CallID: fmt.Sprint(at), Name: "look", Content: words(20)}))
		} else {
			s.add("", answer(rapid.IntRange(5, 60).Draw(t, "answer")))
		}
		s.c = s.c.WithInference(domain.Usage{Estimated: true}, s.r)
		x.places = append(x.places, s.here(number, step+1, edits))
	}
	x.to = s.c.Len()
	s.executions, s.stands, s.cleared = append(slices.Clip(s.executions), x), nil, false
}

// sumUp has a summary stand for what comes before its plan.
func (s *modelled) sumUp() {
	plan, worth := s.c.PlanSummary(s.r)
	if !worth {
		return
	}
	summary, to := s.c.Len(), plan.Request().To
	s.add(domain.SectionSummary, domain.UserMessage(fmt.Sprintf("summary %d", summary)))
	s.c = s.c.WithSummary(plan, s.r)
	left := slices.DeleteFunc(slices.Clone(s.shown), func(i int) bool { return i < to || s.entry(i).Section == domain.SectionSummary })
	s.shown = append([]int{summary}, left...)
}

func (s *modelled) entry(i int) domain.Entry { return s.c.Log().Entries()[i] }

func (s *modelled) clear() {
	s.c = s.c.WithCleared(s.next())
	s.path, s.shown, s.stands, s.cleared = nil, nil, nil, true
	s.back = slices.Repeat([]domain.Mark{domain.MarkCleared}, s.c.Len())
}

// rewind moves to a place as a client asks for it.
func (s *modelled) rewind(t *rapid.T, to place) {
	log, _ := s.c.Log().Upto(to.length)
	request := contract.RewindRequest{
		Origin: domain.Origin{ExecutionID: executionID(to.execution), Step: to.step}, Number: to.execution, Newest: s.next() - 1,
		Log: log.Ref(), Edits: to.edits, Inferences: to.inferences,
	}
	require.NoError(t, s.c.CheckRewind(request, func(int) bool { return true }))
	s.c = s.c.WithRewound(request, s.next())
	s.path, s.shown, s.stands, s.cleared = slices.Clone(to.path), slices.Clone(to.shown), &to, false
	s.back = append(slices.Clone(to.back), slices.Repeat([]domain.Mark{domain.MarkTakenBack}, s.c.Len()-to.length)...)
}

// somewhere draws a place of the past.
func (s *modelled) somewhere(t *rapid.T) place {
	places := s.executions[rapid.IntRange(0, len(s.executions)-1).Draw(t, "execution")].places
	return places[rapid.IntRange(0, len(places)-1).Draw(t, "step")]
}

// forked is another session that begins with what this one had come to somewhere, or, where nothing is named, stands at.
func (s *modelled) forked(t *rapid.T) *modelled {
	newest := s.executions[len(s.executions)-1].places
	at := newest[len(newest)-1]
	switch {
	case rapid.Bool().Draw(t, "named"):
		at = s.somewhere(t)
	case s.c.Cleared():
		return &modelled{r: s.r, c: conversation.New("")}
	case s.stands != nil:
		at = *s.stands
	}
	log, _ := s.c.Log().Upto(at.length)
	return &modelled{r: s.r, c: conversation.At(log, at.edits, "", chain(at.execution), at.inferences), path: slices.Clone(at.path), shown: slices.Clone(at.shown), back: slices.Clone(at.back)}
}

// imported is what an exported session is elsewhere: its messages and its position have been text.
func (s *modelled) imported(t *rapid.T) *modelled {
	type file struct {
		Messages []domain.Entry
		Edits    domain.Edits
	}
	text, err := json.Marshal(file{s.c.Log().Entries(), s.c.Edits()})
	require.NoError(t, err)
	read, err := domain.Decode[file](text)
	require.NoError(t, err)
	require.NoError(t, read.Edits.Check(len(read.Messages)))
	log, err := domain.Log{}.Join(read.Messages...)
	require.NoError(t, err)
	there := *s
	there.c = conversation.At(log, read.Edits, "", chain(s.next()), s.c.Inferences())
	return &there
}

// copied is another session that was given the messages that are handed out of this one.
func (s *modelled) copied(t *rapid.T) *modelled {
	given, err := domain.NewStartOptions(nil, s.c.Edits().OnPath(s.c.Log().Entries()), nil)
	require.NoError(t, err)
	other := &modelled{r: s.r, c: conversation.New("").WithExecution(chain(1), false, s.r).WithGiven(executionID(1), given, noon)}
	summaries := 0
	for i, e := range other.c.Log().Entries() {
		other.path, other.back = append(other.path, i), append(other.back, "")
		if other.shown = append(other.shown, i); e.Section == domain.SectionSummary { // summaries are shown first
			other.shown = slices.Insert(other.shown[:i], summaries, i)
			summaries++
		}
	}
	return other
}

// check compares what the edits say of the session with what it has to be.
func (s *modelled) check(t *rapid.T) {
	edits, entries := s.c.Edits(), s.c.Log().Entries()
	require.NoError(t, s.c.Check())
	var unmarked, path []int
	for i := range entries {
		mark := edits.Mark(&entries[i])
		if mark == "" {
			unmarked = append(unmarked, i)
		}
		if !mark.OffPath() {
			path, mark = append(path, i), ""
		}
		require.Equal(t, s.back[i], mark, "message %d", i)
	}
	require.Equal(t, s.path, path, "what is handed out")
	require.Equal(t, slices.Sorted(slices.Values(s.shown)), unmarked, "what is not marked")
	var request, want []string
	for _, m := range domain.CompileEdited(domain.WholeConversation, nil, entries, chain(s.next()), s.c.StepInput().Edits) {
		request = append(request, m.ID.String()+m.Text())
	}
	for _, i := range s.shown {
		want = append(want, entries[i].Message.ID.String()+entries[i].Message.Text())
	}
	require.Equal(t, want, request, "the next request")
	require.False(t, s.cleared && len(entries) > 0 && !s.c.Cleared())
	require.False(t, s.c.Cleared() && len(path) > 0)
	for n, x := range s.executions {
		span, back := edits.Tail(x.from, x.to)
		kept := len(slices.DeleteFunc(slices.Clone(s.path), func(i int) bool { return i < x.from || i >= x.to }))
		require.Equal(t, kept < x.to-x.from, back, "execution %d", n+1)
		require.Equal(t, kept == 0, back && span.From <= x.from, "execution %d", n+1)
		if back && kept > 0 {
			require.Equal(t, x.from+kept, x.places[span.AfterStep].length, "execution %d after step %d", n+1, span.AfterStep)
		}
		if back {
			require.LessOrEqual(t, span.By, s.next())
			require.Greater(t, span.By, n+1)
		}
	}
}

// TestMarksAreTheNextRequest whatever is done with sessions: they are sent messages, cleared, rewound, forked, exported, imported
// and copied, in any order. go test ./domain/conversation -run TestMarksAreTheNextRequest -rapid.checks=10000 plays 10,000 orders.
func TestMarksAreTheNextRequest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		sessions := []*modelled{{r: resolved(600, ""), c: conversation.New("")}}
		for range rapid.IntRange(1, 20).Draw(t, "changes") {
			s := sessions[rapid.IntRange(0, len(sessions)-1).Draw(t, "session")]
			switch change := rapid.SampledFrom([]string{"send", "send", "clear", "rewind", "rewind", "fork", "import", "copy"}).Draw(t, "change"); {
			case change == "clear":
				s.clear()
			case change == "copy" && len(s.path) > 0:
				sessions = append(sessions, s.copied(t))
			case change == "import":
				s = s.imported(t)
				sessions = append(sessions, s)
			case change == "rewind" && len(s.executions) > 0:
				s.rewind(t, s.somewhere(t))
			case change == "fork" && len(s.executions) > 0:
				sessions = append(sessions, s.forked(t))
			default:
				s.play(t)
			}
			for _, s := range sessions {
				s.check(t)
			}
		}
	})
}
