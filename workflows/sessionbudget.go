package workflows

import (
	"cmp"
	"fmt"
	"slices"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
)

// sessionBudget is the version from which a budget over the session bounds its executions. An older worker knows none.
// It is asked as an account is opened, and nowhere else. It must never change.
const sessionBudget = "session-budget"

// toldSessionBudget is the version from which the memo has the session's budget. It is asked where that changes, and at the
// end of an execution of a session that has one. It must never change.
const toldSessionBudget = "told-session-budget"

// keptSessionBudget is the version from which a budget holds again that an older worker has lost. Where a run begins without
// it that is asked, and, by an id that goes on with execution and step, before each step that has none: the run may have
// begun on an older worker, and a version that this had not is never another one in its run. It must never change.
const keptSessionBudget = "kept-session-budget"

// limitSession gives the session other totals; what was spent stays spent. Where it has had none it counts from here on.
func (s session) limitSession(budget domain.ExecutionBudget) {
	if _, has := s.state.Session(); !has {
		if budget.IsEmpty() || workflow.GetVersion(s.root, sessionBudget, workflow.DefaultVersion, 1) == workflow.DefaultVersion {
			return
		}
	}
	s.account(budget)
	if _, told := workflow.GetInfo(s.root).Memo.GetFields()[contract.MemoSessionBudget]; !told || s.state.ExecutionCount() > 0 {
		s.tellSessionBudget()
	}
}

// tellSessionBudget writes the session's budget where a worker finds it that is handed a session without.
func (s session) tellSessionBudget() {
	if memo := s.addSessionBudget(map[string]any{}); len(memo) > 0 {
		upsertMemo(s.root, memo)
	}
}

// addSessionBudget adds to a memo what tells of the session's budget: nothing in what began before that was told.
func (s session) addSessionBudget(into map[string]any) map[string]any {
	if workflow.GetVersion(s.root, toldSessionBudget, workflow.DefaultVersion, 1) == workflow.DefaultVersion {
		return into
	}
	account, executions, has := s.state.SessionBooked()
	memo := contract.SessionMemo{Executions: executions}
	if has {
		memo.Account = &account
	} else {
		memo.Executions = s.state.ExecutionCount()
	}
	if rebudgets(s.next) {
		memo.Next = &s.next.Definition.SessionBudget
	}
	into[contract.MemoSessionBudget] = memo
	return into
}

func upsertMemo(root workflow.Context, memo map[string]any) {
	if err := workflow.UpsertMemo(root, memo); err != nil {
		workflow.GetLogger(root).Error("upsert memo", "error", err)
	}
}

// keepSessionBudget has the session's budget hold again where an older worker has lost it: as the run begins, and before a
// step.
func (s session) keepSessionBudget(step bool) {
	_, has := s.state.Session()
	memo := s.toldSessionBudget()
	if memo == nil {
		return
	}
	waits, lost := s.next != nil && rebudgets(s.next), (*domain.SessionAccount)(nil)
	if !has {
		lost = memo.Lost(!waits)
	}
	next := waits && memo.Next != nil && !memo.Next.IsEmpty() && s.next.Definition.SessionBudget.IsEmpty()
	if lost == nil && !next {
		return
	}
	since := keptSessionBudget
	if step {
		since = fmt.Sprintf("%s/%d.%d", since, s.state.ExecutionCount(), s.state.StepCount()+1)
	}
	if workflow.GetVersion(s.root, since, workflow.DefaultVersion, 1) == workflow.DefaultVersion {
		return
	}
	workflow.GetLogger(s.root).Warn("an older worker has lost the budget of the session, which holds again")
	if next {
		s.restoreNextBudget(*memo.Next)
	}
	if lost != nil {
		s.restoreAccount(*lost, memo.Executions)
		s.restoreSessionBudget(lost.Budget)
		s.tellSessionBudget()
	}
}

// toldSessionBudget is what the memo says of the session's budget, or else the definition with which the run began; nil:
// nothing. Of a memo that nobody can read nothing is left.
func (s session) toldSessionBudget() *contract.SessionMemo {
	field, told := workflow.GetInfo(s.root).Memo.GetFields()[contract.MemoSessionBudget]
	if !told {
		if !s.passed.IsZero() { // the definition is another agent's
			return nil
		}
		return contract.SessionMemoOf(s.in.Definition)
	}
	var memo contract.SessionMemo
	err := converter.GetDefaultDataConverter().FromPayload(field, &memo)
	if lost := memo.Lost(true); err != nil || memo.Executions < 0 || lost != nil && lost.Check() != nil {
		nothing := domain.ExecutionBudget{MaxSteps: new(int64(0))}
		return &contract.SessionMemo{Account: &domain.SessionAccount{Budget: nothing}}
	}
	return &memo
}

// restoreAccount takes an account that was checked.
func (a *agent) restoreAccount(lost domain.SessionAccount, executions int) {
	a.state = must(a.state.WithSessionKept(lost, executions, a.now()))
}

// restoreSessionBudget and restoreNextBudget give the definition in force, and the one that waits, the totals back.
func (d *definition) restoreSessionBudget(b domain.ExecutionBudget) { d.own.SessionBudget = b }
func (d *definition) restoreNextBudget(b domain.ExecutionBudget) {
	next := *d.next
	next.Definition.SessionBudget = b
	d.next = &next
}

// account takes totals that were checked.
func (a *agent) account(budget domain.ExecutionBudget) {
	a.state = must(a.state.WithSessionBudget(budget, a.now()))
}

// rebudgets reports whether a definition that waits for the next execution brings other totals for the session.
func rebudgets(next *contract.Redefinition) bool {
	return next != nil && slices.Contains(next.Word.Fields, contract.FieldSessionBudget)
}

// upcomingAccount is the session's as the next execution begins with it.
func (s session) upcomingAccount() domain.SessionAccount {
	account, _ := s.state.Session()
	if rebudgets(s.next) {
		account.Budget = s.next.Definition.SessionBudget
	}
	return account
}

// checkSessionLeft refuses what would begin an execution, or wait for one, of which the session's budget leaves nothing.
func (s session) checkSessionLeft(what string) error {
	use, reached := s.upcomingAccount().Bounds().Reached(s.now())
	if !reached {
		return nil
	}
	return domain.Errorf(domain.Denied, "%s: nothing is left of the session's budget: %s; %s%s", what, use, use.GoOn(), s.extending(use))
}

// extending is how to extend what a limit is of; empty where that is what was asked for.
func (s session) extending(use domain.LimitUse) string {
	if !use.Session {
		return ""
	}
	return fmt.Sprintf(" (`extend %s --session --%s TOTAL`)", s.called(), use.Rule.Limit.Flag())
}

// called is how people call the agent.
func (s session) called() string { return cmp.Or(s.in.Name, s.in.AgentID.String()) }

func (s session) checkExtendSession(request contract.ExtendSessionRequest) error {
	account, has := s.state.Session()
	totals := account.Budget.Extended(request.Budget, request.Lift)
	switch {
	case s.mail.Closed():
		return domain.Errorf(domain.Denied, "extend: the session is closed")
	case !has && !rebudgets(s.next):
		return domain.Errorf(domain.Denied, "extend: the session has no budget; `update %s` gives it one, as session_budget in its definition", s.called())
	case !has:
		return domain.Errorf(domain.Denied, "extend: the session has no budget before its next execution begins; `update %s` changes that one", s.called())
	case request.Budget.IsZero() && len(request.Lift) == 0:
		return domain.Errorf(domain.Invalid, "extend: give at least one new total of the session, such as max_steps")
	case totals.MaxCostNanoUSD != nil && s.resolved != nil && s.resolved.Price == nil:
		return domain.Errorf(domain.Invalid, "max_cost: nobody knows what %s costs; extend another limit", s.state.LLMConfig())
	}
	return request.Budget.CheckSession()
}

// extendSession takes what was checked. It bounds the execution in progress from now on, and begins none.
func (s session) extendSession(request contract.ExtendSessionRequest) contract.ExtendSessionReply {
	account, _ := s.state.Session()
	s.account(account.Budget.Extended(request.Budget, request.Lift))
	s.tellSessionBudget()
	account, _ = s.state.Session()
	return contract.ExtendSessionReply{Number: s.state.ExecutionCount(), InProgress: s.state.HasActiveExecution(), Account: account}
}
