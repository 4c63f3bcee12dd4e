package workflows

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/workflows/internal/mailbox"
)

// An askedCall is a call about which people are asked.
type askedCall struct {
	domain.PendingApproval
	position int
	// stops says that the execution stops where nobody decides in time.
	stops bool
	// edited are the arguments that the person who approved it gave in place of those asked about; empty: none.
	edited string
	// edits counts how often somebody has tried to.
	edits int
}

func (c *askedCall) decide(decision domain.Decision, by, reason string, at time.Time) {
	if c.Approval = c.Decided(decision, by, reason, at); c.edited != "" {
		c.Approval = c.AsEdited(c.Tool, c.Arguments, c.edited)
	}
}

func (c *askedCall) tryEdit() { c.edits++ }

// edit has a person's own arguments run where the call is approved.
func (c *askedCall) edit(arguments string) { c.edited = arguments }

func (c *askedCall) bound() domain.Digest { return c.Digest }

func (c *askedCall) place() int { return c.position }

// longestWait bounds for how long people are asked, where a rule bounds it.
const longestWait = 10 * 365 * 24 * time.Hour

// ruling is what the approvals in force say about a call.
func (s session) ruling(call domain.ToolCall) domain.Ruling {
	tool, _ := s.config.resolved.Tool(call.Name)
	ruling := s.config.resolved.ApprovalsOf(s.config.own).RuleOn(tool, call.Arguments, s.state.Trusted())
	for _, above := range slices.Concat(s.config.handoffs.Approvals, s.in.Bounds().Approvals) {
		ruling = ruling.OrStricter(above.RuleOn(tool, call.Arguments, s.state.Trusted()))
	}
	return ruling
}

// ask asks people about a call that the rules hold back. Nil: they let it run.
func (b *toolBatch) ask(i int, call domain.ToolCall) (*askedCall, *domain.Error) {
	ruling := b.ruling(call)
	switch {
	case ruling.Then != domain.AskFirst, b.stands(i, call, ruling.Rule):
		return nil, nil
	case b.mail.StopAsked():
		b.allowed--
		return nil, notApproved()
	}
	approval := domain.Approval{Digest: domain.CallDigest(call.Name, call.Arguments), Rule: ruling.Rule, AskedAt: b.now()}
	if ruling.ExpiresAfter > 0 {
		approval.ExpiresAt = b.now().Add(min(ruling.ExpiresAfter, longestWait))
	}
	asked := &askedCall{
		PendingApproval: domain.PendingApproval{PendingCall: b.pendingCall(i, call), Arguments: call.Arguments, Approval: approval},
		position:        i, stops: ruling.AtExpiry == domain.ExpiryStops,
	}
	b.approvals.ask(asked)
	b.held++
	b.unpublished = true
	b.approvalChanged(i, asked.Approval)
	b.emit(domain.EventApprovalRequested, domain.CallAsked{
		EventCall: eventCall(asked.ToolExecutionID, call.Name),
		Digest:    asked.Digest, ExpiresAt: asked.ExpiresAt,
	})
	return asked, nil
}

// pendingCall names a call of the step to people.
func (b *toolBatch) pendingCall(i int, call domain.ToolCall) domain.PendingCall {
	return domain.PendingCall{ToolExecutionID: b.content.ID.Tool(i), ExecutionID: b.execution, Step: b.content.Number, Tool: call.Name}
}

// awaitWord waits in the coroutine of a call until somebody has decided about it, and is the permit to begin it,
// or why it may not, and the call as it is to be made. Nothing of it is under way meanwhile.
func (b *toolBatch) awaitWord(ctx workflow.Context, i int, call domain.ToolCall, asked *askedCall) (mailbox.Permit, domain.ToolCall, *domain.Error) {
	defer b.release()
	halted := func() bool { return b.halted }
	decided := b.mail.AwaitWord(ctx, asked.ExpiresAt, func() bool { return !asked.Waits() }, halted)
	b.approvals.over(asked)
	b.unpublished = true
	if !decided {
		return mailbox.Permit{}, call, notApproved()
	}
	if asked.Waits() {
		asked.decide(domain.Expired, "", "", b.now())
	}
	if b.approvalChanged(i, asked.Approval); asked.edited != "" {
		call.Arguments = asked.edited
		b.callAs(i, call)
	}
	b.emit(domain.EventApprovalDecided, domain.ToolApprovalDecided{
		EventCall: eventCall(asked.ToolExecutionID, asked.Tool),
		Digest:    asked.Digest, Decision: asked.Decision, By: asked.By, Standing: asked.Standing, Edited: asked.Edited,
	})
	if refusal := asked.Refusal(); refusal != nil {
		if asked.Decision == domain.Expired && asked.stops {
			b.signal(domain.StopRequested, "approvals", fmt.Sprintf("nobody approved the call of %s in time (%s)", domain.Shorten(asked.Tool, 64), asked.Rule))
			b.halt()
		}
		return mailbox.Permit{}, call, refusal
	}
	if asked.edited != "" {
		if blocked := b.showEdit(ctx, i, call); blocked != nil {
			return mailbox.Permit{}, call, blocked
		}
	}
	permit, ok := b.mail.AfterWord(ctx, halted)
	if !ok {
		return permit, call, notBegun()
	}
	return permit, call, nil
}

// release ends the wait of one call, and reckon says whether all that is left waits for people.
func (b *toolBatch) release() {
	b.held--
	b.reckon()
}

// holdForPeople begins the wait of a call that has begun, for a person's word.
func (b *toolBatch) holdForPeople() {
	b.held++
	b.publishLater()
	b.reckon()
}

// showEdit lets hooks see an edited call. While a hook with I/O looks at it nobody waits for people.
func (b *toolBatch) showEdit(ctx workflow.Context, i int, call domain.ToolCall) *domain.Error {
	slow := func(spec contract.HookSpec) bool { return spec.IO && spec.Trigger == domain.TriggerBeforeToolUse }
	if !slices.ContainsFunc(b.config.resolved.Hooks, slow) {
		return b.reviewEdit(ctx, i, call)
	}
	b.release()
	blocked := b.reviewEdit(ctx, i, call)
	b.held++
	b.reckon()
	return blocked
}

func (b *toolBatch) publishLater() { b.unpublished = true }

// asGiven reports whether a call that waits would run as the model gave it.
func (b *toolBatch) asGiven(waits domain.PendingApproval) bool {
	i := slices.IndexFunc(b.content.ToolExecutions, func(t domain.ToolExecution) bool { return t.ID == waits.ToolExecutionID })
	return i >= 0 && waits.Digest == domain.CallDigest(b.calls[i].Name, b.calls[i].Arguments)
}

func (s session) checkApprove(request contract.ApproveRequest) error {
	err := s.stillAsked("approve", request.Call, request.Digest)
	return cmp.Or(err, checkSeen(request.Digest), checkWord(request.By, request.Reason), s.checkAlways(request))
}

// checkSeen refuses to approve a call without the digest of what the person was shown.
func checkSeen(digest domain.Digest) error {
	if digest.IsZero() {
		return domain.Errorf(domain.Invalid, "digest: is missing; give that of the call that you have seen, so that nothing else runs")
	}
	return nil
}

func (s session) checkDeny(request contract.DenyRequest) error {
	err := s.stillAsked("deny", request.Call, request.Digest)
	return cmp.Or(err, checkWord(request.By, request.Reason))
}

func (s session) approve(request contract.ApproveRequest) contract.DecisionReply {
	return s.decide(domain.Approved, request)
}

func (s session) deny(request contract.DenyRequest) contract.DecisionReply {
	return s.decide(domain.WasDenied, contract.ApproveRequest{Call: request.Call, By: request.By, Reason: request.Reason})
}

// decide writes down somebody's word. The call takes it from there.
func (s session) decide(decision domain.Decision, word contract.ApproveRequest) contract.DecisionReply {
	call, err := s.askedAbout("decide", word.Call, domain.Digest{})
	if err != nil {
		panic(err) // the check has found it
	}
	call.decide(decision, word.By, word.Reason, s.now())
	var standing *domain.StandingApproval
	if word.Always {
		standing = s.standBy(call)
	}
	return contract.DecisionReply{
		ExecutionID: call.ExecutionID, Number: s.state.ExecutionCount, Step: call.Step,
		ToolExecutionID: call.ToolExecutionID, Tool: call.Tool, Approval: call.Approval, Standing: standing,
	}
}

// stillAsked refuses a word about a call that does not wait for it, or no more.
func (s session) stillAsked(does string, id domain.ToolExecutionID, digest domain.Digest) error {
	call, err := s.askedAbout(does, id, digest)
	if err != nil {
		return err
	}
	return s.inTime(does, call.PendingCall, call.ExpiresAt)
}

// askedAbout finds the call that somebody decides about, or says why there is none.
func (s session) askedAbout(what string, id domain.ToolExecutionID, digest domain.Digest) (*askedCall, error) {
	return s.approvals.find(what, id, digest, func() error { return s.notAsked(what, id) })
}

// notAsked says why nobody is asked about a call.
func (s session) notAsked(what string, id domain.ToolExecutionID) error {
	if id.IsZero() {
		return domain.Errorf(domain.Denied, "%s: no call of this agent waits for approval", what)
	}
	if call, ok := s.toolExecution(id); ok {
		switch call.Approval.Decision {
		case domain.Expired:
			return domain.Errorf(domain.Denied, "%s: the approval of call %s expired at %s", what, id, call.Approval.At.Format(time.RFC3339))
		case "":
			return domain.Errorf(domain.Denied, "%s: call %s does not wait for approval", what, id)
		case domain.Approved, domain.WasDenied:
			return domain.Errorf(domain.Denied, "%s: call %s was %s already, at %s%s", what, id, call.Approval.Decision,
				call.Approval.At.Format(time.RFC3339), byWhom(call.Approval.By))
		}
	}
	if call, ok := s.approvals.byID(id); ok { // decided a moment ago
		return domain.Errorf(domain.Denied, "%s: call %s was %s already%s", what, id, call.Decision, byWhom(call.By))
	}
	return domain.Errorf(domain.Denied, "%s: no call %s waits for approval", what, id)
}

// toolExecution finds a call of the execution, as far as its steps are held.
func (s session) toolExecution(id domain.ToolExecutionID) (domain.ToolExecution, bool) {
	steps := []domain.AgentStep{}
	for _, done := range s.state.StepExecutions() {
		steps = append(steps, done.Step)
	}
	if step, ok := s.state.CurrentStep(); ok {
		steps = append(steps, step)
	}
	for _, step := range slices.Backward(steps) {
		for _, call := range step.ToolExecutions {
			if call.ID == id {
				return call, true
			}
		}
	}
	return domain.ToolExecution{}, false
}

func byWhom(by string) string {
	if by == "" {
		return ""
	}
	return " by " + by
}

// shortened cuts the arguments of pending approvals so that they fit into a status.
func shortened(pending []domain.PendingApproval) []domain.PendingApproval {
	for i := range pending {
		pending[i] = pending[i].Cut(min(32<<10, domain.MaxPage/2/len(pending)))
	}
	return pending
}

// notApproved is what the model gets to read of a call that a stop kept from being approved.
func notApproved() *domain.Error {
	return domain.CodedErrorf(domain.Denied, domain.CodeNotRun, "not run: the execution was stopped before a person had approved the call")
}
