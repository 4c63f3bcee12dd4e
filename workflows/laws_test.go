package workflows_test

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
)

// A law holds in every world. What it says of a simulation that breaks it names what has.
type law struct {
	name  string
	holds func(*simulation) error
}

// laws are those that domain/doc.go lists.
func laws() []law {
	return []law{
		{"an execution that should end ends", (*simulation).comesToRest},
		{"an execution's events are whole", (*simulation).eventsAreWhole},
		{"what runs is what was shown", (*simulation).runsWhatWasShown},
		{"each wait has one end", (*simulation).waitsEndOnce},
		{"each call has one result in what the model is sent", (*simulation).callsHaveOneResult},
		{"no message is lost or read twice", (*simulation).messagesAreReadOnce},
		{"messages are read in their order", (*simulation).messagesKeepTheirOrder},
		{"what is asked twice is done once", (*simulation).wordsCountOnce},
		{"nothing begins in a pause or after a stop", (*simulation).nothingBeginsInBetween},
		{"what was spent is counted", (*simulation).spendingIsCounted},
		{"a tree never overdraws its root", (*simulation).treesKeepToLimits},
		{"a session keeps to its totals", (*simulation).sessionsKeepToTotals},
		{"an effect happens at most once", (*simulation).effectsHappenOnce},
		{"marks are the next request", (*simulation).marksAreTheNextRequest},
		{"a request begins with the one before", (*simulation).requestsBeginWithTheOneBefore},
		{"what is accepted is handed on", (*simulation).isHandedOn},
	}
}

func (s *simulation) comesToRest() error {
	if len(s.wrong) > 0 {
		return errors.New(strings.Join(s.wrong, "; "))
	}
	return nil
}

// all are the accounts of the agent and its sub-agents, by the agents' workflow ids.
func (s *simulation) all() map[string]account.Account {
	all := maps.Clone(s.accounts)
	all[s.input.WorkflowID()] = account.Account{Executions: s.executions, Events: s.events, Messages: s.entries}
	return all
}

// eventsAreWhole: each execution's are numbered from 1, what began has ended, and one event ends it.
func (s *simulation) eventsAreWhole() error {
	for agent, told := range s.all() {
		sequence, ends, open := map[domain.ExecutionID]int64{}, map[domain.ExecutionID]int{}, map[string]int{}
		for _, e := range told.Events {
			if sequence[e.ExecutionID]++; e.Sequence != sequence[e.ExecutionID] {
				return fmt.Errorf("%s: event %d is %s, number %d", s.who(agent), sequence[e.ExecutionID], e.Type, e.Sequence)
			}
			switch data := e.Data.(type) {
			case domain.InferenceRequestStarted:
				open[fmt.Sprint("an inference of ", e.ExecutionID)]++
			case domain.InferenceResponseReceived:
				open[fmt.Sprint("an inference of ", e.ExecutionID)]--
			case domain.EventCall:
				if e.Type == domain.EventToolCallStarted {
					open[fmt.Sprint("call ", data.ToolExecutionID)]++
				}
			case domain.ToolCallCompleted:
				open[fmt.Sprint("call ", data.ToolExecutionID)]--
			case domain.SubagentSpawning:
				open[fmt.Sprint("sub-agent ", data.ChildID)]++
			case domain.SubagentCompleted:
				open[fmt.Sprint("sub-agent ", data.ChildID)]--
			}
			switch e.Type {
			case domain.EventStepStarted:
				open[fmt.Sprint("step of ", e.ExecutionID)]++
			case domain.EventStepCompleted:
				open[fmt.Sprint("step of ", e.ExecutionID)]--
			case domain.EventExecutionCompleted, domain.EventExecutionFailed:
				ends[e.ExecutionID]++
			}
		}
		for what, n := range open {
			if n != 0 {
				return fmt.Errorf("%s: %s began %+d times more than it ended", s.who(agent), what, n)
			}
		}
		for _, e := range told.Executions {
			if ends[e.ExecutionID] != 1 || !e.Status.Terminal() {
				return fmt.Errorf("%s: execution %d has %d ends and is %s", s.who(agent), e.Number, ends[e.ExecutionID], e.Status)
			}
		}
	}
	return nil
}

// asks are the calls as the model made them, by their ids.
func (s *simulation) asks() map[domain.ToolExecutionID]domain.ToolCall {
	calls := map[domain.ToolExecutionID]domain.ToolCall{}
	for _, told := range s.all() {
		for _, e := range told.Messages {
			for i, call := range e.Message.ToolCalls {
				calls[domain.TagOf(e.Message).StepID.Tool(i)] = call
			}
		}
	}
	return calls
}

func (s *simulation) hooked(arguments string) string {
	if len(s.plan.hooks) > 0 && arguments == rewritten {
		return rewrittenTo
	}
	return arguments
}

// runsWhatWasShown: what runs is, to the byte, what the model asked for after the hooks' say, and where a person was asked what that
// person saw or gave.
func (s *simulation) runsWhatWasShown() error {
	calls := s.asks()
	for _, one := range s.ran {
		id, call := one.request.ID(), calls[one.request.ID()]
		arguments := one.request.Arguments
		if one.request.Reference != nil {
			arguments = call.Arguments
			if one.request.Reference.Digest != domain.DigestOf([]byte(arguments)) {
				return fmt.Errorf("%s runs with arguments of another digest", id)
			}
		}
		want, allowed := s.hooked(call.Arguments), s.ruled(one.request.Name) == domain.Allow
		for _, w := range s.words {
			answer, ok := w.request.(contract.AnswerRequest)
			if !ok || w.seq > one.seq || !w.taken() || answer.Verdict != domain.Approved {
				continue
			}
			reply := w.value.(contract.AnswerReply)
			switch {
			case answer.Call == id && answer.Digest != w.shown.Digest:
				return fmt.Errorf("%s was approved with another digest than was shown", id)
			case answer.Call == id && answer.Arguments != "":
				want, allowed = s.hooked(answer.Arguments), allowed || answer.Arguments == s.hooked(answer.Arguments)
			case answer.Call == id:
				want, allowed = w.shown.Arguments, true
			case answer.Always && reply.Standing != nil && reply.Standing.Digest == domain.CallDigest(one.request.Name, arguments):
				allowed = true
			}
		}
		switch {
		case arguments != want:
			return fmt.Errorf("%s of %s runs with %s; %s was shown", id, one.request.Name, arguments, want)
		case !allowed:
			return fmt.Errorf("%s of %s runs with %s, and nobody has allowed it", id, one.request.Name, arguments)
		}
	}
	return nil
}

// ruled is what the agent's rules say of a tool.
func (s *simulation) ruled(tool string) domain.Permission {
	for _, rule := range s.input.Definition.Approvals.Rules {
		if rule.Tool == tool || rule.Tool == "*" {
			return rule.Then
		}
	}
	return domain.AskFirst
}

// waitsEndOnce: by one answer that was taken, or by time, or by a stop without a word.
func (s *simulation) waitsEndOnce() error {
	type wait struct {
		call domain.ToolExecutionID
		kind domain.WaitKind
	}
	opened, closed, byPerson, answered := map[wait]int{}, map[wait]int{}, map[wait]string{}, map[wait]int{}
	for _, told := range s.all() {
		for _, e := range told.Events {
			switch data := e.Data.(type) {
			case domain.WaitOpened:
				opened[wait{data.ToolExecutionID, data.Kind}]++
			case domain.WaitClosed:
				one := wait{data.ToolExecutionID, data.Kind}
				if data.Kind == domain.WaitOutcome && s.verified[data.ToolExecutionID] != "" || !data.Standing.IsZero() && data.Standing != data.ToolExecutionID {
					continue // it did not wait
				}
				if closed[one]++; closed[one] > opened[one] {
					return fmt.Errorf("the wait of %s for %s has ended %d times, and begun %d", one.call, one.kind, closed[one], opened[one])
				}
				byPerson[one] += string(data.Verdict) + " " + data.By + "; "
			}
		}
	}
	for _, w := range s.words {
		answer, ok := w.request.(contract.AnswerRequest)
		if !ok || !w.taken() || w.again != nil {
			continue
		}
		one := wait{answer.Call, answer.Verdict.Kind()}
		if answered[one]++; answered[one] > opened[one] && w.value.(contract.AnswerReply).Wait.Answer.By == answer.By {
			return fmt.Errorf("%d answers were taken for the wait of %s for %s", answered[one], one.call, one.kind)
		}
		if told := w.value.(contract.AnswerReply).Wait; told.Verdict() != answer.Verdict {
			return fmt.Errorf("%s said %s of %s, and is told %s", w.id, answer.Verdict, one.call, told.Verdict())
		}
		if !strings.Contains(byPerson[one], string(answer.Verdict)+" "+answer.By+"; ") && !s.stopped() {
			return fmt.Errorf("%s said %s of %s, and no event has it: %s", w.id, answer.Verdict, one.call, byPerson[one])
		}
	}
	return nil
}

// stopped reports whether somebody has stopped the agent, which ends waits without a word.
func (s *simulation) stopped() bool {
	return slices.ContainsFunc(s.words, func(w *word) bool { return w.what == "stop" })
}

// sent are the messages that an inference was asked with.
func (s *simulation) sent(a asked) []domain.Message {
	entries := s.entries
	if a.agent != s.input.WorkflowID() {
		entries = s.accounts[a.agent].Messages
	}
	if len(entries) < a.request.Log.Length {
		return nil
	}
	return compiled(entries, a.request)
}

// callsHaveOneResult: each call is followed by its result, in the order of the calls, and there is no other result.
func (s *simulation) callsHaveOneResult() error {
	for _, a := range s.asked {
		var due []domain.ToolCall
		for i, m := range s.sent(a) {
			switch {
			case m.ToolResult == nil && len(due) > 0, m.ToolResult != nil && len(due) == 0:
				return fmt.Errorf("step %d: message %d of %s comes where %d results are due", a.request.Step, i, m.Role, len(due))
			case m.ToolResult == nil:
				due = m.ToolCalls
			case m.ToolResult.CallID != due[0].ID || m.ToolResult.Name != due[0].Name:
				return fmt.Errorf("step %d: message %d is the result of %s, and that of %s is due", a.request.Step, i, m.ToolResult.Name, due[0].Name)
			default:
				due = due[1:]
			}
		}
		if len(due) > 0 {
			return fmt.Errorf("step %d: the model is asked while the result of %s is due", a.request.Step, due[0].Name)
		}
	}
	return nil
}

// messagesAreReadOnce: each that was taken is one message of the conversation, waits still, or was taken back.
func (s *simulation) messagesAreReadOnce() error {
	unsent, said := map[domain.MessageID]bool{}, map[string]int{}
	for _, w := range s.words {
		if r, ok := w.value.(contract.UnsendReply); ok && w.taken() {
			unsent[r.MessageID] = true
		}
	}
	for _, e := range s.entries {
		if e.Message.Role == domain.RoleUser {
			said[e.Message.Text()]++
		}
	}
	waiting := map[domain.MessageID]bool{}
	for _, m := range s.last.Unread {
		waiting[m.ID] = true
	}
	for _, w := range s.words {
		var prompt string
		var id domain.MessageID
		switch r := w.request.(type) {
		case contract.SendRequest:
			prompt = r.Prompt
			if reply, ok := s.everTaken(w).(contract.SendReply); ok {
				id = reply.Waits
			}
		case contract.RewindRequest:
			prompt = r.Prompt
		}
		if prompt == "" || w.again != nil {
			continue
		}
		want := 1
		if s.everTaken(w) == nil || unsent[id] || waiting[id] {
			want = 0
		}
		if n := said[prompt]; n != want {
			return fmt.Errorf("%q was said %d times, and %d were to be read", prompt, n, want)
		}
	}
	return nil
}

// messagesKeepTheirOrder: of those that steer, and of those that are queued, none overtakes another.
func (s *simulation) messagesKeepTheirOrder() error {
	said := map[string]int{}
	for i, e := range s.entries {
		said[e.Message.Text()] = i
	}
	newest := map[contract.Delivery]int{}
	var place int64
	for _, w := range s.words {
		request, ok := w.request.(contract.SendRequest)
		if !ok || !w.taken() || w.again != nil {
			continue
		}
		if reply := w.value.(contract.SendReply); !reply.Began {
			if reply.Place <= place {
				return fmt.Errorf("%q came after one of place %d, and has place %d", request.Prompt, place, reply.Place)
			}
			place = reply.Place
		}
		at, read := said[request.Prompt]
		if !read || request.IfBusy == "" {
			continue
		}
		if at < newest[request.IfBusy] {
			return fmt.Errorf("%q overtook another message", request.Prompt)
		}
		newest[request.IfBusy] = at
	}
	return nil
}

// nothingBeginsInBetween: from a pause until it ends the agent asks no model and makes no call anew, and from a stop on the execution
// begins no step; from one of mode now nothing at all.
func (s *simulation) nothingBeginsInBetween() error {
	type beginning struct {
		at        time.Duration
		seq, step int
		what      string
		execution domain.ExecutionID
	}
	var begun []beginning
	for _, a := range s.asked {
		if a.agent == s.input.WorkflowID() && a.attempt == 1 {
			begun = append(begun, beginning{a.at, a.seq, a.request.Step, "the model is asked", a.request.ExecutionID})
		}
	}
	for _, one := range s.ran {
		if one.agent == s.input.WorkflowID() && one.request.Pending == nil {
			begun = append(begun, beginning{one.at, one.seq, one.request.Step, one.request.Name + " is called", one.request.ExecutionID})
		}
	}
	for _, b := range begun {
		for _, w := range s.words {
			if w.at >= b.at || w.executionID != b.execution {
				continue // what comes at the same time may come later
			}
			if stop, ok := w.request.(contract.StopRequest); ok && (stop.Mode == contract.StopNow || b.step > w.step) {
				return fmt.Errorf("step %d: %s after a stop %s in step %d", b.step, b.what, stop.Mode, w.step)
			}
			if _, ok := w.request.(contract.PauseRequest); ok && w.what == "pause" && w.taken() && w.again == nil && !s.resumed(w, b.seq) && !s.signalled(b.execution, b.at) {
				return fmt.Errorf("step %d: %s in the pause of %s", b.step, b.what, w.id)
			}
		}
	}
	return nil
}

// signalled reports whether something had asked an execution to stop, which a step is still to finish for.
func (s *simulation) signalled(id domain.ExecutionID, by time.Duration) bool {
	return slices.ContainsFunc(s.events, func(e domain.Event) bool {
		return e.ExecutionID == id && e.Type == domain.EventStopSignalReceived && e.Time.Sub(s.began) <= by
	})
}

// resumed reports whether a pause was over when something began, or held nothing back since the execution was stopped.
func (s *simulation) resumed(pause *word, before int) bool {
	return slices.ContainsFunc(s.words, func(w *word) bool {
		if w.seq > before || w.executionID != pause.executionID {
			return false
		}
		return w.what == "stop" || w.seq > pause.seq && (w.what == "resume" || w.what == "extend") && w.taken()
	})
}

// everTaken is the answer to a request that was taken when it came, or when it came once more; nil: it was refused.
func (s *simulation) everTaken(w *word) any {
	at := slices.IndexFunc(s.words, func(one *word) bool { return one.taken() && (one == w || one.again == w) })
	if at < 0 {
		return nil
	}
	return s.words[at].value
}

// wordsCountOnce: a request that comes once more, in the same run or in another one, is answered as it was.
func (s *simulation) wordsCountOnce() error {
	for _, w := range s.words {
		if w.agent != s.input.WorkflowID() || w.again == nil || !w.again.taken() || w.value == nil && w.rejected == nil && w.err == nil {
			continue
		}
		if !reflect.DeepEqual(w.value, w.again.value) {
			return fmt.Errorf("%s was answered with %+v, and once more with %+v, %v, %v", w.id, w.again.value, w.value, w.rejected, w.err)
		}
	}
	return nil
}

// owner is the agent's execution in whose time an execution of it or of a sub-agent ran.
func (s *simulation) owner(id domain.ExecutionID) (domain.ExecutionID, bool) {
	for _, e := range s.executions {
		if e.ExecutionID == id {
			return id, true
		}
	}
	for child, told := range s.accounts {
		for _, e := range told.Executions {
			if e.ExecutionID != id {
				continue
			}
			for _, event := range s.events {
				if spawning, ok := event.Data.(domain.SubagentSpawning); ok && domain.WorkflowID(spawning.ChildID.String()) == child {
					return event.ExecutionID, true
				}
			}
		}
	}
	return id, false
}

// spent is what providers and tools have counted of an execution with its sub-agents, and certain says that the agent was told all.
func (s *simulation) spent(execution domain.ExecutionID) (spent domain.Spent, certain bool) {
	certain = true
	for _, a := range s.asked {
		if owner, _ := s.owner(a.request.ExecutionID); owner == execution {
			spent.Tokens += a.used.TotalTokens()
			spent.CostNanoUSD += s.cost(a.used)
			certain = certain && a.heard
		}
	}
	for _, told := range s.all() {
		for _, e := range told.Events {
			if owner, _ := s.owner(e.ExecutionID); owner == execution && e.Type == domain.EventStepStarted {
				spent.Steps++
			}
		}
	}
	begun := map[domain.ToolExecutionID]bool{}
	for _, one := range s.ran {
		if owner, _ := s.owner(one.request.ExecutionID); owner == execution && one.begun && !begun[one.request.ID()] && s.verified[one.request.ID()] != domain.VerdictNotDone {
			begun[one.request.ID()] = true
			spent.ToolCalls++
		}
	}
	return spent, certain
}

// cost is in nano-dollars, rounded up for each inference.
func (s *simulation) cost(u domain.Usage) int64 {
	return (u.InputTokens*s.price.Input + u.OutputTokens*s.price.Output + 999_999) / 1_000_000
}

// spendingIsCounted: an execution says that it has used what its providers count, and no less where it could not be told all.
func (s *simulation) spendingIsCounted() error {
	for _, e := range s.executions {
		spent, certain := s.spent(e.ExecutionID)
		told := e.Usage.TotalTokens()
		if told < spent.Tokens || certain && !e.Usage.Estimated && told != spent.Tokens {
			return fmt.Errorf("execution %d says that it used %d tokens, and providers count %d", e.Number, told, spent.Tokens)
		}
		if e.CostNanoUSD < spent.CostNanoUSD || certain && !e.Usage.Estimated && e.CostNanoUSD != spent.CostNanoUSD {
			return fmt.Errorf("execution %d says that it cost %d nano-dollars, and providers count %d", e.Number, e.CostNanoUSD, spent.CostNanoUSD)
		}
	}
	return nil
}

// highest are the most that the limits of an execution ever were.
func (s *simulation) highest(e account.Execution) domain.ExecutionBudget {
	b := s.input.Definition.Budget
	for _, w := range s.words {
		if reply, ok := w.value.(contract.ExtendReply); ok && w.taken() && reply.ExecutionID == e.ExecutionID {
			b = higher(b, reply.Budget)
		}
	}
	return b
}

// higher has of each limit the higher total.
func higher(b, other domain.ExecutionBudget) domain.ExecutionBudget {
	for _, rule := range domain.LimitRules() {
		one, limited := rule.Total(b)
		two, still := rule.Total(other)
		if limited && still && two.Int() > one.Int() {
			b = b.Raised(rule.Limit, two.Int()-one.Int())
		}
	}
	return b
}

// treesKeepToLimits: what an execution uses, with its sub-agents and with the executions that it goes on from, is within its limits.
func (s *simulation) treesKeepToLimits() error {
	for _, e := range s.executions {
		limits, used := s.highest(e), domain.Spent{}
		chain := []domain.ExecutionID{e.ExecutionID}
		for origin := e.Origin; origin != nil && origin.AgentID.IsZero(); origin = origin.Origin {
			chain = append(chain, origin.ExecutionID)
		}
		for _, id := range chain {
			spent, _ := s.spent(id)
			used = used.Add(spent)
		}
		if what := beyond(limits, used); what != "" {
			return fmt.Errorf("execution %d: %s", e.Number, what)
		}
	}
	return nil
}

func beyond(limits domain.ExecutionBudget, used domain.Spent) string {
	for _, rule := range domain.LimitRules() {
		if total, set := rule.Total(limits); set && rule.Limit != domain.LimitSeconds && rule.Used(used, time.Time{}).Int() > total.Int() {
			return fmt.Sprintf("%s is %v, and %v are used", rule.Limit, total, rule.Used(used, time.Time{}))
		}
	}
	return ""
}

func (s *simulation) sessionsKeepToTotals() error {
	totals, used := s.input.Definition.SessionBudget, domain.Spent{}
	for _, w := range s.words {
		if reply, ok := w.value.(contract.ExtendSessionReply); ok && w.taken() {
			totals = higher(totals, reply.Account.Budget)
		}
	}
	for _, e := range s.executions {
		spent, _ := s.spent(e.ExecutionID)
		used = used.Add(spent)
	}
	if what := beyond(totals, used); what != "" {
		return fmt.Errorf("the session: %s", what)
	}
	return nil
}

// effectsHappenOnce: a call that may have begun is not made again where its tool does not allow it, nor is another one of the same
// effect as long as nobody has said what became of it.
func (s *simulation) effectsHappenOnce() error {
	begun, unknown := map[domain.ToolExecutionID]bool{}, map[string]called{}
	tools := map[string]domain.ToolSpec{}
	for _, tool := range simulatedTools() {
		tools[tool.Name] = tool
	}
	for _, one := range s.ran {
		tool := tools[one.request.Name]
		if tool.Effect.Repeatable() || one.request.Pending != nil {
			continue
		}
		if begun[one.request.ID()] {
			return fmt.Errorf("%s of %s is made again though it may have taken effect", one.request.ID(), tool.Name)
		}
		effect := one.agent + " " + tool.EffectKeyOf(domain.AgentID{}, one.request.Arguments).String()
		if before, is := unknown[effect]; is && !s.settled(before, one.seq) {
			return fmt.Errorf("%s has the effect of %s, of which nobody has said what became of it", one.request.ID(), before.request.ID())
		}
		begun[one.request.ID()] = one.begun
		if one.begun && one.lost {
			unknown[effect] = one
		}
	}
	return nil
}

// settled reports whether somebody, or the tool, had said what became of a call.
func (s *simulation) settled(call called, before int) bool {
	for _, w := range s.words {
		if answer, ok := w.request.(contract.AnswerRequest); ok && w.seq < before && answer.Call == call.request.ID() && answer.Verdict.Kind() == domain.WaitOutcome && w.taken() {
			return true
		}
	}
	return s.verified[call.request.ID()] != ""
}

// moved reports whether somebody has changed where the session stands.
func (s *simulation) moved(from, to time.Duration) bool {
	return slices.ContainsFunc(s.words, func(w *word) bool {
		return from <= w.at && w.at <= to && (strings.HasPrefix(w.what, "clear") || strings.HasPrefix(w.what, "rewind")) && w.taken()
	})
}

// marksAreTheNextRequest: what no mark says that the model sees no more is how its next request begins.
func (s *simulation) marksAreTheNextRequest() error {
	if s.window > 0 {
		return nil // compactions change the marks in between
	}
	at := 0
	for _, a := range s.asked {
		if a.agent != s.input.WorkflowID() {
			continue
		}
		for ; at < len(s.views) && s.views[at].seq < a.seq; at++ {
			l := s.views[at]
			if !l.idle || s.moved(l.at, a.at) {
				continue
			}
			var want []domain.Message
			for _, e := range s.entries[:min(l.head.Position.Length, len(s.entries))] {
				if l.head.Position.Edits.Mark(&e) == "" {
					want = append(want, e.Message)
				}
			}
			sent := s.sent(a)
			for i, m := range want {
				if i >= len(sent) || m.ID != sent[i].ID {
					return fmt.Errorf("step %d is asked with %d messages, and message %d of %d without a mark is not the same: %q", a.request.Step, len(sent), i, len(want), m.Text())
				}
			}
		}
	}
	return nil
}

// requestsBeginWithTheOneBefore, as long as nothing was compacted, rewound or cleared.
func (s *simulation) requestsBeginWithTheOneBefore() error {
	before := map[string]asked{}
	for _, a := range s.asked {
		last, is := before[a.agent]
		if before[a.agent] = a; !is || s.window > 0 || a.request.Log.Length == 0 || s.moved(last.at, a.at) {
			continue
		}
		sent, was := s.sent(a), s.sent(last)
		for i, m := range was {
			if i >= len(sent) || !m.Equal(sent[i]) {
				return fmt.Errorf("step %d: message %d is another one than in the request before: %q", a.request.Step, i, m.Text())
			}
		}
	}
	return nil
}

// isHandedOn: the next run says of the session what the one before said, and was handed no more than the server takes.
func (s *simulation) isHandedOn() error {
	for _, h := range s.hands {
		if h.bytes > domain.MaxPayload {
			return fmt.Errorf("the next run is handed %d bytes", h.bytes)
		}
		if h.after == nil {
			continue
		}
		outcomes := func(head account.Head) (calls []string) {
			for _, w := range head.Waits {
				if w.Kind == domain.WaitOutcome {
					calls = append(calls, w.ToolExecutionID.String())
				}
			}
			return calls
		}
		session := func(head account.Head) *domain.ExecutionBudget {
			if head.Ledger.Session == nil {
				return nil
			}
			return &head.Ledger.Session.Limit
		}
		for what, pair := range map[string][2]any{
			"suspended":              {h.before.Suspended, h.after.Suspended},
			"paused":                 {h.before.Paused, h.after.Paused},
			"standing approvals":     {encode(s.t, h.before.AlwaysAllowed), encode(s.t, h.after.AlwaysAllowed)},
			"unknown outcomes":       {outcomes(h.before), outcomes(*h.after)},
			"messages":               {h.before.Position.Length <= h.after.Position.Length, true},
			"taken back":             {fmt.Sprint(h.before.Position.Edits.TakenBack), fmt.Sprint(h.after.Position.Edits.TakenBack)},
			"session budget":         {session(h.before), session(*h.after)},
			"changes of definitions": {len(h.before.Configuration.Changes) <= len(h.after.Configuration.Changes), true},
		} {
			if !reflect.DeepEqual(pair[0], pair[1]) {
				return fmt.Errorf("%s: %+v before the next run, %+v in it", what, pair[0], pair[1])
			}
		}
	}
	return nil
}
