package domain_test

import (
	"encoding/json"
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
	for name, test := range map[string]struct {
		patterns, arguments string
		allows, denies      bool
	}{
		"equal text":              {`{"to":"ann"}`, `{"to":"ann"}`, true, true},
		"another text":            {`{"to":"ann"}`, `{"to":"anne"}`, false, false},
		"any end":                 {`{"to":"*@example.com"}`, `{"to":"a@b@example.com"}`, true, true},
		"another end":             {`{"to":"*@example.com"}`, `{"to":"a@example.com.evil"}`, false, false},
		"any text over lines":     {`{"to":"a*b"}`, `{"to":"a\n/b"}`, true, true},
		"one character":           {`{"to":"a?c"}`, `{"to":"aäc"}`, true, true},
		"a plain star":            {`{"to":"a\\*c"}`, `{"to":"abc"}`, false, false},
		"a star that is one":      {`{"to":"a\\*c"}`, `{"to":"a*c"}`, true, true},
		"escaped alike":           {`{"to":"ann"}`, `{"to":"\u0061nn"}`, true, true},
		"equal number":            {`{"n":10}`, `{"n":1e1}`, true, true},
		"number as text":          {`{"n":10}`, `{"n":"10"}`, false, true},
		"far number as text":      {`{"n":{"at_least":50}}`, `{"n":" 1e3 "}`, false, true},
		"a text that is none":     {`{"n":{"at_least":50}}`, `{"n":"many"}`, false, false},
		"text as number":          {`{"n":"10*"}`, `{"n":100}`, false, true},
		"true as text":            {`{"n":true}`, `{"n":"true"}`, false, true},
		"false as text":           {`{"n":true}`, `{"n":"false"}`, false, false},
		"a number's last digit":   {`{"n":9007199254740993}`, `{"n":9007199254740992}`, false, false},
		"just above":              {`{"n":{"at_most":50}}`, `{"n":50.0000000000000000000000000000001}`, false, false},
		"a number without end":    {`{"n":{"at_most":50}}`, `{"n":1` + strings.Repeat("0", 500) + `}`, false, true},
		"in a list":               {`{"to":"*@evil"}`, `{"to":["a@b",["x@evil"]]}`, false, true},
		"in an object":            {`{"to":"*@evil"}`, `{"to":{"mail":"x@evil"}}`, false, true},
		"a key that is a star":    {`{"a.*":{"at_most":50}}`, `{"a":{"*":1,"eur":1000}}`, false, true},
		"a star that hides":       {`{"*":"*evil*"}`, `{"*":"","x":"evil"}`, false, true},
		"an item without it":      {`{"a.*.p":{"at_most":5}}`, `{"a":[{"p":1},{"sku":"gold"}]}`, false, true},
		"an item that is none":    {`{"a.*.p":{"at_most":5}}`, `{"a":[{"p":1},7]}`, false, true},
		"a text too long":         {`{"to":"a*"}`, `{"to":"` + strings.Repeat("b", 70_000) + `"}`, false, true},
		"too many values":         {`{"a.*":1}`, `{"a":[1` + strings.Repeat(",1", 2000) + `]}`, false, true},
		"very many values":        {`{"a.*":1}`, `{"a":[1` + strings.Repeat(",1", 1990) + `]}`, true, true},
		"within bounds":           {`{"n":{"at_least":1,"at_most":50}}`, `{"n":50}`, true, true},
		"above":                   {`{"n":{"at_most":50}}`, `{"n":50.01}`, false, false},
		"below":                   {`{"n":{"at_least":0}}`, `{"n":-1}`, false, false},
		"far above":               {`{"n":{"at_most":50}}`, `{"n":1e999}`, false, false},
		"no number":               {`{"n":{"at_most":50}}`, `{"n":null}`, false, false},
		"true":                    {`{"n":true}`, `{"n":true}`, true, true},
		"null":                    {`{"n":null}`, `{}`, false, false},
		"a list":                  {`{"n":[1,"a"]}`, `{"n":[1,"a"]}`, true, true},
		"deep":                    {`{"a.b.c":"x"}`, `{"a":{"b":{"c":"x"}}}`, true, true},
		"one of a list":           {`{"a.1":"y"}`, `{"a":["x","y"]}`, true, true},
		"beyond a list":           {`{"a.2":"y"}`, `{"a":["x","y"]}`, false, false},
		"all of a list":           {`{"a.*.p":{"at_most":5}}`, `{"a":[{"p":1},{"p":5}]}`, true, true},
		"one of all":              {`{"a.*.p":{"at_most":5}}`, `{"a":[{"p":1},{"p":6}]}`, false, true},
		"none of all":             {`{"a.*":"x"}`, `{"a":[]}`, false, false},
		"all of an object":        {`{"a.*":"x"}`, `{"a":{"k":"x","l":"x"}}`, true, true},
		"both of two":             {`{"a":"x","b":"y"}`, `{"a":"x","b":"y"}`, true, true},
		"one of two":              {`{"a":"x","b":"y"}`, `{"a":"x","b":"z"}`, false, false},
		"twice":                   {`{"to":"ann"}`, `{"to":"ann","to":"eve"}`, false, true},
		"twice, elsewhere":        {`{"to":"ann"}`, `{"to":"ann","x":{"y":1,"y":2}}`, false, true},
		"twice by another case":   {`{"to":"ann"}`, `{"to":"ann","TO":"eve"}`, false, true},
		"another case alone":      {`{"to":"ann"}`, `{"To":"ann"}`, false, true},
		"a letter that folds":     {`{"kind":"x"}`, `{"\u212aind":"x"}`, false, true},
		"a long s":                {`{"sum":"x"}`, `{"ſum":"y","sum":"x"}`, false, true},
		"escaped key twice":       {`{"to":"ann"}`, `{"to":"ann","t\u006f":"eve"}`, false, true},
		"another case, deep":      {`{"a.b":"x"}`, `{"a":{"B":"x"}}`, false, true},
		"no object":               {`{"to":"ann"}`, `["ann"]`, false, true},
		"nothing":                 {`{"to":"ann"}`, ``, false, true},
		"two values":              {`{"to":"ann"}`, `{"to":"ann"}{"to":"eve"}`, false, true},
		"no JSON":                 {`{"to":"ann"}`, `{"to":"ann",}`, false, true},
		"comment":                 {`{"to":"ann"}`, `{"to":"ann"} // eve`, false, true},
		"cut":                     {`{"to":"ann"}`, `{"to":"ann"`, false, true},
		"half a surrogate":        {`{"to":"ann*"}`, `{"to":"ann\ud800"}`, false, true},
		"not UTF-8":               {`{"to":"ann*"}`, "{\"to\":\"ann\xff\"}", false, true},
		"nested without end":      {`{"to":"ann"}`, `{"to":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, false, true},
		"a byte order mark":       {`{"to":"ann"}`, "\ufeff" + `{"to":"ann"}`, false, true},
		"space around":            {`{"to":"ann"}`, " {\"to\":\"ann\"}\n", true, true},
		"a text where one object": {`{"a.b":"x"}`, `{"a":"{\"b\":\"x\"}"}`, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tool := domain.ToolSpec{Name: "send", Effect: domain.ReadOnly}
			allow := &domain.Approvals{Rules: []domain.ApprovalRule{{Arguments: patterns(test.patterns), Then: domain.Allow}, {Then: domain.AskFirst}}}
			require.NoError(t, allow.Check())
			require.Equal(t, test.allows, allow.RuleOn(tool, test.arguments, nil).Then == domain.Allow, "allowed")
			deny := domain.Approvals{Rules: []domain.ApprovalRule{{Arguments: patterns(test.patterns), Then: domain.Deny}}}
			require.Equal(t, test.denies, deny.RuleOn(tool, test.arguments, nil).Then == domain.Deny, "denied")
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
		"second":          {"pay", domain.AtMostOnce, `{"amount":51}`, domain.AskFirst, "rule 2 (pay: ask)"},
		"unreadable":      {"pay", domain.AtMostOnce, `{"amount":50,"Amount":51}`, domain.AskFirst, "rule 2 (pay: ask)"},
		"by its effect":   {"git__delete", domain.Idempotent, ``, domain.Allow, "rule 3 (git__*, read_only, idempotent: allow)"},
		"another effect":  {"git__delete", domain.Keyed, ``, domain.Deny, "rule 4 (*__delete: deny)"},
		"none, reads":     {"look", domain.ReadOnly, ``, domain.Allow, "no rule, and it only reads"},
		"none, writes":    {"write", domain.Idempotent, ``, domain.AskFirst, "no rule, and its effect is idempotent"},
		"none, keyed":     {"book", domain.Keyed, ``, domain.AskFirst, "no rule, and its effect is keyed"},
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
	require.Equal(t, domain.Deny, domain.Everywhere(domain.Deny).RuleOn(domain.ToolSpec{Name: "look", Effect: domain.ReadOnly}, "", nil).Then)
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
		"approvals[0].then":                                 {Tool: "pay"},
		"approvals[0].effects: \"huge\" is none of":         {Effects: []domain.Effect{"huge"}, Then: domain.Allow},
		"approvals[0].expires_after: is -1s":                {ExpiresAfter: -time.Second, Then: domain.AskFirst},
		"approvals[0].expires_after: only a rule that asks": {ExpiresAfter: time.Second, Then: domain.Allow},
		"approvals[0].at_expiry: needs expires_after":       {AtExpiry: domain.ExpiryStops, Then: domain.AskFirst},
		"approvals[0].arguments: \"a..b\" is no path":       {Arguments: patterns(`{"a..b":1}`), Then: domain.Allow},
		"approvals[0].arguments.a: is an object":            {Arguments: patterns(`{"a":{"max":1}}`), Then: domain.Allow},
		"approvals[0].arguments.a: has 302 bytes":           {Arguments: patterns(`{"a":"` + strings.Repeat("x", 300) + `"}`), Then: domain.Allow},
		"approvals[0].tool: is no name":                     {Tool: strings.Repeat("x", 300), Then: domain.Allow},
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

// TestHintsOnlyTighten: whatever a server says of its tool, a call is never freer than it would be without the rules
// that look at that, wherever they stand.
func TestHintsOnlyTighten(t *testing.T) {
	t.Parallel()
	pin := domain.DigestOf([]byte("listed"))
	harmless := enum.Known[domain.Hint]()
	warned := domain.ApprovalRule{Hints: []domain.Hint{domain.Destructive}, Then: domain.AskFirst}
	for name, test := range map[string]struct {
		rules []domain.ApprovalRule
		tool  domain.ToolSpec
		then  domain.Permission
	}{
		"said nothing":            {[]domain.ApprovalRule{warned, {Then: domain.Allow}}, domain.ToolSpec{Pin: pin}, domain.AskFirst},
		"said it is harmless":     {[]domain.ApprovalRule{warned, {Then: domain.Allow}}, domain.ToolSpec{Pin: pin, Disclaims: harmless}, domain.Allow},
		"the other hint":          {[]domain.ApprovalRule{warned, {Then: domain.Allow}}, domain.ToolSpec{Pin: pin, Disclaims: []domain.Hint{domain.OpenWorld}}, domain.AskFirst},
		"the worker's own":        {[]domain.ApprovalRule{warned, {Then: domain.Allow}}, domain.ToolSpec{}, domain.Allow},
		"denied all the same":     {[]domain.ApprovalRule{warned, {Tool: "r*", Then: domain.Deny}}, domain.ToolSpec{Pin: pin}, domain.Deny},
		"harmless, but denied":    {[]domain.ApprovalRule{warned, {Tool: "r*", Then: domain.Deny}}, domain.ToolSpec{Pin: pin, Disclaims: harmless}, domain.Deny},
		"behind one that allows":  {[]domain.ApprovalRule{{Then: domain.Allow}, warned}, domain.ToolSpec{Pin: pin}, domain.Allow},
		"no rule, and reads":      {[]domain.ApprovalRule{warned}, domain.ToolSpec{Pin: pin, Effect: domain.ReadOnly}, domain.AskFirst},
		"no rule, harmless":       {[]domain.ApprovalRule{warned}, domain.ToolSpec{Pin: pin, Disclaims: harmless, Effect: domain.AtMostOnce}, domain.AskFirst},
		"no rule, harmless reads": {[]domain.ApprovalRule{warned}, domain.ToolSpec{Pin: pin, Disclaims: harmless, Effect: domain.ReadOnly}, domain.Allow},
		"the stricter of two":     {[]domain.ApprovalRule{warned, {Hints: enum.Known[domain.Hint](), Then: domain.Deny}, {Then: domain.Allow}}, domain.ToolSpec{Pin: pin}, domain.Deny},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &domain.Approvals{Rules: test.rules}
			require.NoError(t, a.Check())
			test.tool.Name = "remove"
			require.Equal(t, test.then, a.RuleOn(test.tool, "{}", nil).Then)
		})
	}
	require.Equal(t, "rule 1 (destructive: ask)", (&domain.Approvals{Rules: []domain.ApprovalRule{warned}}).RuleOn(domain.ToolSpec{Pin: pin}, "", nil).Rule)
	warned.Then = domain.Allow
	require.ErrorContains(t, (&domain.Approvals{Rules: []domain.ApprovalRule{warned}}).Check(), "approvals[0].hints: no server's word lets a call run")
	require.ErrorContains(t, (&domain.Approvals{Rules: []domain.ApprovalRule{{Hints: []domain.Hint{"nice"}, Then: domain.Deny}}}).Check(), `approvals[0].hints: `)
}
