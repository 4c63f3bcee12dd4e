package account_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
)

// An item is one of an agent's past, in the order in which it came.
type item struct {
	part account.Part
	// execution is the number of the item's execution, and number its own, as a cursor has it.
	execution, number int
	size              int
}

// A past is what an agent has done, with the runs that its workflow has had for that.
type past struct {
	ids   []domain.ExecutionID
	items []item
	runs  []pastRun
}

// A pastRun begins with an item, and holds of what came before it the newest execution and what was carried.
type pastRun struct {
	begins, ends int
	// again is how many steps, events and messages it carries, of what an earlier run has too.
	again int
}

// drawPast draws executions with steps, events and messages, and where the runs begin.
func drawPast(t *rapid.T) past {
	var p past
	size := rapid.IntRange(1, 50)
	messages := 0
	for e := range rapid.IntRange(0, 3).Draw(t, "executions") {
		p.ids = append(p.ids, domain.ExecutionID{UUID: uuid.NewSHA1(uuid.Nil, []byte{byte(e)})})
		counts := map[account.Part]int{}
		add := func(part account.Part) {
			counts[part]++
			number := counts[part]
			switch part {
			case account.Executions:
				number = 0
			case account.Messages:
				number = messages
				messages++
			default:
			}
			p.items = append(p.items, item{part, e + 1, number, size.Draw(t, "size")})
		}
		add(account.Executions)
		add(account.Events)
		for range rapid.IntRange(0, 12).Draw(t, "items") {
			add(rapid.SampledFrom([]account.Part{account.Steps, account.Events, account.Messages}).Draw(t, "part"))
		}
	}
	begins := append(rapid.SliceOfN(rapid.IntRange(0, len(p.items)), 0, 5).Draw(t, "runs begin"), 0, len(p.items))
	slices.Sort(begins)
	again := rapid.IntRange(0, 2).Draw(t, "carried")
	for i, at := range begins[1:] {
		p.runs = append(p.runs, pastRun{begins[i], at, again})
	}
	return p
}

// before counts the items of a part, and of an execution unless that is zero, that came before a run.
func (p past) before(r pastRun, part account.Part, execution int) (n int) {
	for _, it := range p.items[:r.begins] {
		if it.part == part && (execution == 0 || it.execution == execution) {
			n++
		}
	}
	return n
}

// held says what a run holds.
func (p past) held(n int) account.Held {
	r := p.runs[n]
	held := account.Held{Run: account.Run{ID: fmt.Sprint(n)}, Messages: max(p.before(r, account.Messages, 0)-r.again, 0)}
	newest := p.before(r, account.Executions, 0)
	for e := max(newest, 1); e <= p.before(pastRun{begins: r.ends}, account.Executions, 0); e++ {
		earlier := 0
		for _, it := range p.items {
			if it.part == account.Messages && it.execution < e {
				earlier++
			}
		}
		held.Executions = append(held.Executions, account.HeldExecution{
			Number: e, ID: p.ids[e-1], Message: earlier, Step: max(p.before(r, account.Steps, e)-r.again, 0) + 1, Event: int64(max(p.before(r, account.Events, e)-r.again, 0)) + 1,
		})
	}
	return held
}

// of are the items of a part that a run holds, or with all those that there were up to its end.
func (p past) of(n int, part account.Part, all bool) (found []item) {
	held, first := p.held(n), map[int]account.HeldExecution{}
	for _, e := range held.Executions {
		first[e.Number] = e
	}
	for _, it := range p.items[:p.runs[n].ends] {
		e, holds := first[it.execution]
		switch part {
		case account.Steps:
			holds = holds && it.number >= e.Step
		case account.Events:
			holds = holds && it.number >= int(e.Event)
		case account.Messages:
			holds = it.number >= held.Messages
		default:
		}
		if it.part == part && (all || holds) {
			found = append(found, it)
		}
	}
	return found
}

var lists = []account.Part{account.Executions, account.Steps, account.Events, account.Messages}

// page is one of a run, written as the workflow does it, with the sizes of what is on it.
func (p past) page(n int, r account.Request) (page account.Page, sizes []int) {
	w := account.Writer{Request: r, Page: account.Page{PageEnd: account.PageEnd{Held: p.held(n)}}}
	for _, part := range lists {
		for _, it := range p.of(n, part, false) {
			at := account.Cursor{Part: part, Execution: it.execution, Item: it.number}
			if part == account.Messages {
				at.Execution = 0
			}
			w.Add(at, it.execution, func() int { return it.size }, func(a *account.Account) {
				sizes = append(sizes, it.size)
				p.put(a, it)
			})
		}
	}
	w.Add(account.Cursor{Part: account.HeadOf}, r.Execution, func() int { return 10 }, func(a *account.Account) {
		sizes = append(sizes, 10)
		a.Head = &account.Head{Name: fmt.Sprint(n)}
	})
	return w.Page, sizes
}

func (p past) put(a *account.Account, it item) {
	id := p.ids[it.execution-1]
	switch it.part {
	case account.Executions:
		a.Executions = append(a.Executions, account.Execution{Outcome: contract.Outcome{Number: it.execution, ExecutionID: id}})
	case account.Steps:
		step := domain.StepExecution{Step: domain.AgentStep{Number: it.number}}
		a.Steps = append(a.Steps, account.Step{Execution: it.execution, StepExecution: step})
	case account.Events:
		header := domain.EventHeader{Sequence: int64(it.number), ExecutionID: id}
		a.Events = append(a.Events, domain.Event{Type: domain.EventExecutionStarted, EventHeader: header, Data: domain.AgentExecutionStarted{Number: it.execution}})
	default:
		a.Messages = append(a.Messages, domain.Entry{Index: it.number})
	}
}

// account is what a request asks for, of all that a run holds, or with all of what there was up to its end.
func (p past) account(n int, r account.Request, all bool) (a account.Account) {
	for _, part := range lists {
		for _, it := range p.of(n, part, all) {
			if r.Wants(part) && (r.Execution == 0 || it.execution == r.Execution) {
				p.put(&a, it)
			}
		}
	}
	if r.Wants(account.HeadOf) {
		a.Head = &account.Head{Name: fmt.Sprint(n)}
	}
	return a
}

// read joins the pages of a run.
func (p past) read(t *rapid.T, n int, r account.Request) (all account.Account, held account.Held) {
	room := r.Bytes
	if room == 0 {
		room = domain.MaxPage
	}
	for pages := 0; ; pages++ {
		require.LessOrEqual(t, pages, len(p.items), "each page has an item")
		require.NoError(t, r.Check())
		page, sizes := p.page(n, r)
		total := 0
		for _, size := range sizes {
			total += size
		}
		require.True(t, total <= room || len(sizes) == 1, "a page of %v where there is room for %d", sizes, room)
		all, held = all.With(page.Account), page.Held
		if page.Next == nil {
			return all, held
		}
		require.NotEmpty(t, sizes)
		r.From = *page.Next
	}
}

// short names what an account has, in its order.
func short(a account.Account) (names []string) {
	for _, e := range a.Executions {
		names = append(names, fmt.Sprint("execution ", e.Number))
	}
	for _, step := range a.Steps {
		names = append(names, fmt.Sprintf("step %d of %d", step.Number, step.Execution))
	}
	for _, event := range a.Events {
		names = append(names, fmt.Sprintf("event %d of %s", event.Sequence, event.ExecutionID))
	}
	for _, entry := range a.Messages {
		names = append(names, fmt.Sprint("message ", entry.Index))
	}
	if a.Head != nil {
		names = append(names, "head of "+a.Head.Name)
	}
	return names
}

func drawRequest(t *rapid.T) account.Request {
	want := rapid.SliceOfNDistinct(rapid.SampledFrom(append([]account.Part{account.HeadOf}, lists...)), 1, 5, rapid.ID).Draw(t, "want")
	return account.Request{Want: want, Bytes: rapid.SampledFrom([]int{0, 1, 40, 100, 300}).Draw(t, "bytes")}
}

func TestPagesOfARunAreItsAccount(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p, request := drawPast(t), drawRequest(t)
		request.Execution = rapid.IntRange(0, 3).Draw(t, "execution")
		for n := range p.runs {
			all, held := p.read(t, n, request)
			require.Equal(t, short(p.account(n, request, false)), short(all))
			require.Equal(t, p.held(n), held)
		}
	})
}

// TestRunsTogetherHaveEachItemOnce: the newest run is read first, then one after the other until all that is wanted is there.
func TestRunsTogetherHaveEachItemOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p, request := drawPast(t), drawRequest(t)
		n := len(p.runs) - 1
		all, held := p.read(t, n, request)
		for ; !held.Reaches(request); n-- {
			require.Positive(t, n, "there is no earlier run")
			before := fmt.Sprintf("%+v", held)
			earlier, heldEarlier := p.read(t, n-1, request)
			all = all.After(earlier, held)
			held.With(heldEarlier)
			require.Equal(t, before, fmt.Sprintf("%+v", held), "it is a value")
			held = held.With(heldEarlier)
		}
		require.Equal(t, short(p.account(len(p.runs)-1, request, true)), short(all))
		whole := all
		whole.Head = &account.Head{Position: account.Position{Length: len(all.Messages)}}
		if len(all.Executions) > 0 {
			whole.Head.Newest = &all.Executions[len(all.Executions)-1]
		}
		require.Empty(t, whole.WithMissing(request, held).Missing)
	})
}

func TestMissingNamesWhatNoRunHas(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := drawPast(t)
		n := len(p.runs) - 1
		_, whole := p.read(t, n, account.Request{Want: lists})
		request := account.Request{Want: lists}
		if len(whole.Executions) > 0 {
			request.Execution = rapid.IntRange(account.Newest, whole.Executions[len(whole.Executions)-1].Number).Draw(t, "execution")
		}
		all, held := p.read(t, n, request.Of(whole))
		newest := p.before(pastRun{begins: len(p.items)}, account.Executions, 0)
		all.Head = &account.Head{Position: account.Position{Length: p.before(pastRun{begins: len(p.items)}, account.Messages, 0)}}
		if newest > 0 {
			all.Head.Newest = &account.Execution{Outcome: contract.Outcome{Number: newest}}
		}
		missing := map[string]int{}
		for _, m := range all.WithMissing(request, held).Missing {
			for number := m.From; number <= m.To; number++ {
				missing[fmt.Sprint(m.Part, m.Execution, number)]++
			}
		}
		for _, it := range p.items {
			known := slices.ContainsFunc(held.Executions, func(e account.HeldExecution) bool { return e.Number == it.execution })
			name := fmt.Sprint(it.part, it.execution, it.number)
			switch it.part {
			case account.Executions:
				name = fmt.Sprint(it.part, 0, it.execution)
			case account.Messages:
				name = fmt.Sprint(it.part, 0, it.number)
			default:
				if !known {
					continue // nobody knows how many there were
				}
			}
			want := 1
			if slices.Contains(p.of(n, it.part, false), it) {
				want = 0
			}
			if meant := request.Of(whole).Execution; meant > 0 && it.execution != meant {
				want = 0
			} else if meant > 0 && !known && it.part == account.Messages {
				continue // nobody knows which were its
			}
			require.Equal(t, want, missing[name], name)
			delete(missing, name)
		}
		require.Empty(t, missing)
	})
}

// TestMissingNamesHoles: of what was read some in the middle may be gone too.
func TestMissingNamesHoles(t *testing.T) {
	t.Parallel()
	all := account.Account{Messages: []domain.Entry{{Index: 0}, {Index: 1}, {Index: 4}, {Index: 5}}}
	held := account.Held{Messages: 0, Executions: []account.HeldExecution{{Number: 2, Step: 1, Event: 1}, {Number: 5, Step: 1, Event: 1}}}
	for want, missing := range map[account.Part]string{
		account.Executions: "[execution 1 executions 3 to 4]", account.Steps: "[execution 1 executions 3 to 4]",
		account.Events: "[execution 1 executions 3 to 4]", account.Messages: "[messages 2 to 3]", account.HeadOf: "[]",
	} {
		require.Equal(t, missing, fmt.Sprint(all.WithMissing(account.Request{Want: []account.Part{want}}, held).Missing), want)
	}
	for number, missing := range map[int]string{1: "[execution 1]", 2: "[]", 4: "[execution 4]", 6: "[]"} {
		request := account.Request{Want: []account.Part{account.Executions}, Execution: number}
		require.Equal(t, missing, fmt.Sprint(all.WithMissing(request, held).Missing), number)
	}
}

// TestAnEarlierAccountDoesNotSayOtherwise than a later one of what that holds whole. Of an execution that a later run only
// remembers the earlier one knows more.
func TestAnEarlierAccountDoesNotSayOtherwise(t *testing.T) {
	t.Parallel()
	told := func(answer string, numbers ...int) (a account.Account) {
		for _, n := range numbers {
			a.Executions = append(a.Executions, account.Execution{Outcome: contract.Outcome{Number: n}, Ended: &contract.End{Answer: answer}})
		}
		return a
	}
	for remembers, want := range map[bool]string{false: "own", true: "earlier"} {
		held := account.Held{Executions: []account.HeldExecution{{Number: 2, Step: 1, Event: 1, EndedBefore: remembers}}}
		all := told("own", 2).After(told("earlier", 1, 2), held)
		require.Len(t, all.Executions, 2)
		require.Equal(t, "earlier", all.Executions[0].Ended.Answer)
		require.Equal(t, want, all.Executions[1].Ended.Answer)
	}
}

func TestDamagedRequestsAreRefused(t *testing.T) {
	t.Parallel()
	steps := []account.Part{account.Steps}
	for name, request := range map[string]account.Request{
		"an unknown part":                {Want: []account.Part{"stepz"}},
		"no part":                        {Want: []account.Part{""}},
		"a negative execution":           {Want: steps, Execution: -2},
		"negative bytes":                 {Want: steps, Bytes: -1},
		"a cursor of no list":            {Want: steps, From: account.Cursor{Part: "stepz"}},
		"a cursor without a list":        {Want: steps, From: account.Cursor{Item: 3}},
		"a cursor of what has no list":   {Want: []account.Part{account.State}, From: account.Cursor{Part: account.State}},
		"a cursor of what is unwanted":   {Want: steps, From: account.Cursor{Part: account.Events, Execution: 1, Item: 1}},
		"a cursor before all items":      {Want: steps, From: account.Cursor{Part: account.Steps, Execution: 1, Item: -1}},
		"a cursor before all executions": {Want: steps, From: account.Cursor{Part: account.Steps, Execution: -1, Item: 1}},
	} {
		var refused *domain.Error
		require.ErrorAs(t, request.Check(), &refused, name)
		require.Equal(t, domain.Invalid, refused.Kind, name)
	}
	require.NoError(t, account.Request{Want: steps, From: account.Cursor{Part: account.Steps, Execution: 1, Item: 7}}.Check())
}
