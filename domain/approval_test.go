package domain_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/enum"
)

func patterns(text string) map[string]json.RawMessage {
	var m map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		panic(err)
	}
	return m
}

// TestArgumentPatterns: what a rule that allows and one that denies make of the same arguments. What two programs
// could read differently is never allowed, and always denied.
func TestArgumentPatterns(t *testing.T) {
	t.Parallel()
	cases := [][4]string{
		{"a number without end", `{"n":{"at_most":50}}`, `{"n":1` + strings.Repeat("0", 500) + `}`, "denies"},
		{"a text too long", `{"to":"a*"}`, `{"to":"` + strings.Repeat("b", 70_000) + `"}`, "denies"},
		{"too many values", `{"a.*":1}`, `{"a":[1` + strings.Repeat(",1", 2000) + `]}`, "denies"},
		{"very many values", `{"a.*":1}`, `{"a":[1` + strings.Repeat(",1", 1990) + `]}`, "allows, denies"},
		{"nothing", `{"to":"ann"}`, ``, "denies"},
		{"not UTF-8", `{"to":"ann*"}`, "{\"to\":\"ann\xff\"}", "denies"},
		{"nested without end", `{"to":"ann"}`, `{"to":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, "denies"},
		{"a byte order mark", `{"to":"ann"}`, "\ufeff" + `{"to":"ann"}`, "denies"},
		{"space around", `{"to":"ann"}`, " {\"to\":\"ann\"}\n", "allows, denies"},
	}
	content, err := os.ReadFile(filepath.Join("testdata", "patterns.txt"))
	require.NoError(t, err)
	for _, line := range strings.Split(strings.TrimSpace(string(content)), "\n")[1:] {
		columns := regexp.MustCompile(` {2,}`).Split(line, -1)
		require.Len(t, columns, 4, line)
		cases = append(cases, [4]string(columns))
	}
	for _, c := range cases {
		name, pattern, arguments, does := c[0], patterns(c[1]), c[2], c[3]
		require.Contains(t, []string{"allows, denies", "denies", "neither"}, does, name)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tool := domain.ToolSpec{Name: "send", Effect: domain.ReadOnly}
			allow := &domain.Approvals{Rules: []domain.ApprovalRule{{Arguments: pattern, Then: domain.Allow}, {Then: domain.AskFirst}}}
			require.NoError(t, allow.Check())
			require.Equal(t, strings.Contains(does, "allows"), allow.RuleOn(tool, arguments, nil).Then == domain.Allow, "allowed")
			deny := domain.Approvals{Rules: []domain.ApprovalRule{{Arguments: pattern, Then: domain.Deny}}}
			require.Equal(t, strings.Contains(does, "denies"), deny.RuleOn(tool, arguments, nil).Then == domain.Deny, "denied")
		})
	}
}

// TestTheFirstRuleDecides, and where none matches what the tool does.
func TestTheFirstRuleDecides(t *testing.T) {
	t.Parallel()
	a := &domain.Approvals{Rules: []domain.ApprovalRule{
		{Tool: "pay", Arguments: patterns(`{"amount":{"at_most":50}}`), Then: domain.Allow},
		{Tool: "pay", Then: domain.AskFirst, ExpiresAfter: time.Hour, AtExpiry: domain.ExpiryStops},
		{Tool: "git__*", Effects: []domain.Effect{domain.ReadOnly, domain.Idempotent}, Then: domain.Allow},
		{Tool: "*__delete", Then: domain.Deny},
	}}
	require.NoError(t, a.Check())
	for name, test := range map[string]struct {
		tool      string
		effect    domain.Effect
		arguments string
		then      domain.Permission
		rule      string
	}{
		"first":           {"pay", domain.AtMostOnce, `{"amount":50}`, domain.Allow, `rule 1 (pay, amount {"at_most":50}: allow)`},
		"by its effect":   {"git__delete", domain.Idempotent, ``, domain.Allow, "rule 3 (git__*, read_only, idempotent: allow)"},
		"another effect":  {"git__delete", domain.Keyed, ``, domain.Deny, "rule 4 (*__delete: deny)"},
		"none, reads":     {"look", domain.ReadOnly, ``, domain.Allow, "no rule, and it only reads"},
		"no better known": {"mail", domain.AtMostOnce, ``, domain.AskFirst, "no rule, and its effect is at_most_once"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ruling := a.RuleOn(domain.ToolSpec{Name: test.tool, Effect: test.effect}, test.arguments, nil)
			require.Equal(t, test.then, ruling.Then)
			require.Equal(t, test.rule, ruling.Rule)
		})
	}
	require.Equal(t, time.Hour, a.RuleOn(domain.ToolSpec{Name: "pay"}, "", nil).ExpiresAfter)
	require.Equal(t, domain.Deny, domain.ApprovalsOf("deny").RuleOn(domain.ToolSpec{Name: "look", Effect: domain.ReadOnly}, "", nil).Then)
}

// TestTrustedValues decide too, and no model can write them.
func TestTrustedValues(t *testing.T) {
	t.Parallel()
	a := &domain.Approvals{Rules: []domain.ApprovalRule{
		{Trusted: patterns(`{"customer.group":"staff"}`), Then: domain.Allow},
		{Trusted: patterns(`{"region":"x*"}`), Then: domain.Deny},
	}}
	require.NoError(t, a.Check())
	then := func(trusted domain.Trusted) domain.Permission {
		return a.RuleOn(domain.ToolSpec{Name: "pay"}, `{"customer":{"group":"staff"}}`, trusted).Then
	}
	require.Equal(t, domain.Allow, then(patterns(`{"customer":{"group":"staff"}}`)))
	require.Equal(t, domain.AskFirst, then(patterns(`{"customer":{"group":"guests"}}`)))
	require.Equal(t, domain.AskFirst, then(patterns(`{"customer":4711}`)))
	require.Equal(t, domain.AskFirst, then(nil), "what is not given matches nothing")
	require.Equal(t, domain.Deny, then(patterns(`{"region":"xx"}`)))
	require.Equal(t, domain.Deny, then(patterns(`{"customer":{"group":"staff","Group":"guests"}}`)), "what can be read in two ways is not allowed")
	require.Contains(t, a.RuleOn(domain.ToolSpec{}, "", patterns(`{"region":"xx"}`)).Rule, `rule 2 (trusted region "x*": deny)`)
	a.Rules[0].Trusted = patterns(`{"a.":1}`)
	require.ErrorContains(t, a.Check(), `approvals[0].trusted: "a." is no path`)
}

func TestApprovalWords(t *testing.T) {
	t.Parallel()
	for word, thens := range map[string][2]domain.Permission{
		"allow": {domain.Allow, domain.Allow}, "writes": {domain.Allow, domain.AskFirst}, "ask": {domain.AskFirst, domain.AskFirst}, "deny": {domain.Deny, domain.Deny},
	} {
		a := domain.ApprovalsOf(word)
		require.Equal(t, word, a.Word())
		require.Contains(t, domain.ApprovalWords(), word)
		require.Equal(t, thens[0], a.RuleOn(domain.ToolSpec{Name: "look", Effect: domain.ReadOnly}, "", nil).Then)
		require.Equal(t, thens[1], a.RuleOn(domain.ToolSpec{Name: "mail"}, "", nil).Then)
	}
	require.Empty(t, (*domain.Approvals)(nil).Word())
	require.Empty(t, (&domain.Approvals{Rules: []domain.ApprovalRule{{Tool: "a", Then: domain.Allow}}}).Word())
}

func TestRulesThatMakeNoSense(t *testing.T) {
	t.Parallel()
	for says, rule := range map[string]domain.ApprovalRule{
		"approvals[0].then": {Tool: "pay"},
		"approvals[0].effects[0]: effect: \"huge\" is none of": {Effects: []domain.Effect{"huge"}, Then: domain.Allow},
		"approvals[0].effects: one is empty":                   {Effects: []domain.Effect{""}, Then: domain.Allow},
		"approvals[0].expires_after: is -1s":                   {ExpiresAfter: -time.Second, Then: domain.AskFirst},
		"approvals[0].expires_after: only a rule that asks":    {ExpiresAfter: time.Second, Then: domain.Allow},
		"approvals[0].at_expiry: needs expires_after":          {AtExpiry: domain.ExpiryStops, Then: domain.AskFirst},
		"approvals[0].arguments: \"a..b\" is no path":          {Arguments: patterns(`{"a..b":1}`), Then: domain.Allow},
		"approvals[0].arguments.a: is an object":               {Arguments: patterns(`{"a":{"max":1}}`), Then: domain.Allow},
		"approvals[0].arguments.a: has 302 bytes":              {Arguments: patterns(`{"a":"` + strings.Repeat("x", 300) + `"}`), Then: domain.Allow},
		"approvals[0].tightens: a rule that allows":            {Tightens: true, Then: domain.Allow},
		"approvals[0].asked: a rule for what would":            {Asked: true, Then: domain.AskFirst},
		"approvals[0].tool: is no name":                        {Tool: strings.Repeat("x", 300), Then: domain.Allow},
	} {
		d := domain.Definition{Model: domain.LLMConfig{Provider: "scripted", Model: "x"}, Approvals: &domain.Approvals{Rules: []domain.ApprovalRule{rule}}}
		require.ErrorContains(t, d.Check(), says)
	}
}

func TestWhatADecisionTellsTheModel(t *testing.T) {
	t.Parallel()
	asked := domain.Wait{Kind: domain.WaitApproval, Digest: domain.CallDigest("pay", "{}"), Since: after(0), Expires: after(3600)}
	answered := func(verdict domain.Verdict, reason string) domain.Wait {
		return asked.Answered(domain.Answer{Verdict: verdict, By: "ann", Reason: reason, At: after(1)})
	}
	require.True(t, asked.Open())
	require.False(t, domain.Wait{}.Open(), "nobody was asked")
	require.Nil(t, answered(domain.Approved, "").Refusal())
	require.Contains(t, answered(domain.WasDenied, "").Refusal().Message, "denied: a person did not allow this call")
	denied := answered(domain.WasDenied, "too much")
	require.Equal(t, "denied: a person did not allow this call: too much", denied.Refusal().Message)
	require.Equal(t, domain.CodeDenied, denied.Refusal().Code)
	require.Contains(t, asked.Lapsed(after(1)).Refusal().Message, "the approval expired")
	call := domain.ToolExecution{Error: denied.Refusal(), Waits: []domain.Wait{denied}}
	require.True(t, call.WasBlocked())
	require.False(t, call.Outcome().Ran())
	require.NotEqual(t, domain.CallDigest("pay", "{}"), domain.CallDigest("pay{", "}"))
}

func TestRulesThatTightenLeaveTheRestToTheWorker(t *testing.T) {
	t.Parallel()
	tightening := &domain.Approvals{Rules: []domain.ApprovalRule{
		{Tool: "shell", Then: domain.AskFirst, Tightens: true}, {Tool: "write_*", Then: domain.Deny, Tightens: true},
	}}
	shell, write, read, mail := domain.ToolSpec{Name: "shell"}, domain.ToolSpec{Name: "write_file"}, domain.ToolSpec{Name: "read", Effect: domain.ReadOnly}, domain.ToolSpec{Name: "mail"}
	for word, thens := range map[string][4]domain.Permission{
		"allow": {domain.AskFirst, domain.Deny, domain.Allow, domain.Allow}, "writes": {domain.AskFirst, domain.Deny, domain.Allow, domain.AskFirst},
		"ask": {domain.AskFirst, domain.Deny, domain.AskFirst, domain.AskFirst}, "deny": {domain.Deny, domain.Deny, domain.Deny, domain.Deny},
	} {
		both := tightening.Over(domain.ApprovalsOf(word))
		require.NoError(t, both.Check())
		for i, tool := range []domain.ToolSpec{shell, write, read, mail} {
			require.Equal(t, thens[i], both.RuleOn(tool, "{}", nil).Then, "%s: %s", word, tool.Name)
		}
	}
	expires := &domain.Approvals{Rules: []domain.ApprovalRule{{Then: domain.AskFirst, ExpiresAfter: time.Hour}}}
	require.Equal(t, time.Hour, tightening.Over(expires).RuleOn(shell, "{}", nil).ExpiresAfter, "of two that ask, the one that expires")
	own := &domain.Approvals{Rules: append(tightening.Rules, domain.ApprovalRule{Then: domain.Allow})}
	require.Same(t, own, own.Over(domain.ApprovalsOf("deny")), "the last rule says all of the rest")
	require.Equal(t, domain.DefaultApprovals(), domain.DefaultApprovals().Over(domain.ApprovalsOf("deny")), "no rule is the word writes")
}

func TestWhatWouldBeAskedIsDenied(t *testing.T) {
	t.Parallel()
	unasked := &domain.Approvals{Rules: []domain.ApprovalRule{{Tool: "*", Asked: true, Then: domain.Deny, Tightens: true}}}
	read, mail := domain.ToolSpec{Name: "read", Effect: domain.ReadOnly}, domain.ToolSpec{Name: "mail"}
	for word, thens := range map[string][2]domain.Permission{
		"allow": {domain.Allow, domain.Allow}, "writes": {domain.Allow, domain.Deny}, "ask": {domain.Deny, domain.Deny}, "deny": {domain.Deny, domain.Deny},
	} {
		worker := domain.ApprovalsOf(word)
		require.True(t, unasked.LeaveTheRest())
		for i, tool := range []domain.ToolSpec{read, mail} {
			require.Equal(t, thens[i], unasked.Over(worker).RuleOn(tool, "{}", nil).Final().Then, "%s: %s", word, tool.Name)
			above := domain.ApprovalsOf("allow").RuleOn(tool, "{}", nil).OrStricter(unasked.Over(domain.ApprovalsOf("allow")).RuleOn(tool, "{}", nil))
			require.Equal(t, thens[i], worker.RuleOn(tool, "{}", nil).OrStricter(above).Final().Then, "an agent above that never asks: %s, %s", word, tool.Name)
		}
	}
	alone, ask := domain.ApprovalRule{Asked: true, Then: domain.Deny}, domain.ApprovalRule{Tool: "mail", Then: domain.AskFirst}
	for _, rules := range [][]domain.ApprovalRule{{alone}, {alone, ask}, {ask, alone}} {
		own := (&domain.Approvals{Rules: rules}).Over(domain.ApprovalsOf("ask"))
		require.Equal(t, domain.Deny, own.RuleOn(mail, "{}", nil).Final().Then, "wherever it stands")
		require.Equal(t, len(rules) == 1, own.RuleOn(read, "{}", nil).Final().Then == domain.Deny, "the rule alone leaves the rest to the worker")
	}
	ruling := unasked.Over(domain.ApprovalsOf("ask")).RuleOn(mail, "{}", nil).Final()
	require.Equal(t, "rule 1 (*, that would be asked about: deny)", ruling.Rule)
	other := &domain.Approvals{Rules: []domain.ApprovalRule{{Tool: "pay", Asked: true, Then: domain.Deny, Tightens: true}}}
	require.Equal(t, domain.AskFirst, other.Over(domain.ApprovalsOf("ask")).RuleOn(mail, "{}", nil).Final().Then, "the rule is for another tool")
}

// TestHintsOnlyTighten: whatever a server says of its tool, a call is never freer than it would be without the rules
// that look at that, wherever they stand.
func TestHintsOnlyTighten(t *testing.T) {
	t.Parallel()
	pin := domain.DigestOf([]byte("listed"))
	harmless := enum.Known[domain.Hint]()
	warned := domain.ApprovalRule{Hints: []domain.Hint{domain.Destructive}, Then: domain.AskFirst}
	free, only := []domain.ApprovalRule{warned, {Then: domain.Allow}}, []domain.ApprovalRule{warned}
	listed, disclaimed := domain.ToolSpec{Pin: pin}, domain.ToolSpec{Pin: pin, Disclaims: harmless}
	for name, test := range map[string]struct {
		rules []domain.ApprovalRule
		tool  domain.ToolSpec
		then  domain.Permission
	}{
		"said nothing":            {free, listed, domain.AskFirst},
		"said it is harmless":     {free, disclaimed, domain.Allow},
		"the worker's own":        {free, domain.ToolSpec{}, domain.Allow},
		"behind one that allows":  {[]domain.ApprovalRule{{Then: domain.Allow}, warned}, listed, domain.Allow},
		"no rule, and reads":      {only, domain.ToolSpec{Pin: pin, Effect: domain.ReadOnly}, domain.AskFirst},
		"no rule, harmless reads": {only, domain.ToolSpec{Pin: pin, Disclaims: harmless, Effect: domain.ReadOnly}, domain.Allow},
		"the stricter of two":     {[]domain.ApprovalRule{warned, {Hints: enum.Known[domain.Hint](), Then: domain.Deny}, {Then: domain.Allow}}, listed, domain.Deny},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &domain.Approvals{Rules: test.rules}
			require.NoError(t, a.Check())
			test.tool.Name = "remove"
			require.Equal(t, test.then, a.RuleOn(test.tool, "{}", nil).Then)
		})
	}
	require.Equal(t, "rule 1 (destructive: ask)", (&domain.Approvals{Rules: only}).RuleOn(listed, "", nil).Rule)
	warned.Then = domain.Allow
	require.ErrorContains(t, (&domain.Approvals{Rules: []domain.ApprovalRule{warned}}).Check(), "approvals[0].hints: no server's word lets a call run")
	require.ErrorContains(t, (&domain.Approvals{Rules: []domain.ApprovalRule{{Hints: []domain.Hint{"nice"}, Then: domain.Deny}}}).Check(), `approvals[0].hints[0]: `)
}
