package domain_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

// naughtyOr are the naughty strings where they are, else a few.
func naughtyOr(t *testing.T) []string {
	t.Helper()
	few := []string{"", "*", "?", `\`, `\*`, "[", "a.b", ".", "..", "\x00", "a\nb", "\u202e", "\ufeff", "\u212a", "ſ", "é", "e\u0301", "👩‍👩‍👧", strings.Repeat("a", 300), "null", "1e999", "TO", "tO", " to", "to\u200b"}
	data := os.Getenv("EVERSTEP_DATA")
	if data == "" {
		t.Log("EVERSTEP_DATA is not set: of the naughty strings only a few are tried")
		return few
	}
	text, err := os.ReadFile(filepath.Join(data, "hostile", "blns", "blns.json"))
	require.NoError(t, err)
	var all []string
	require.NoError(t, json.Unmarshal(text, &all))
	return append(few, all...)
}

func quoted(t *testing.T, text string) string {
	t.Helper()
	encoded, err := json.Marshal(text)
	require.NoError(t, err)
	return string(encoded)
}

// TestHostileRules: a naughty string as a pattern matches itself and nothing longer; as the tool, a path, a value, a key or
// the name of a trusted value it is taken as what it is, or refused with the field that it stands in.
func TestHostileRules(t *testing.T) {
	t.Parallel()
	plain := strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`)
	send := domain.ToolSpec{Name: "send", Effect: domain.Keyed}
	name := regexp.MustCompile(`^[a-z0-9_]{1,64}$`)
	for _, text := range naughtyOr(t) {
		rule := domain.ApprovalRule{Arguments: map[string]json.RawMessage{"to": json.RawMessage(quoted(t, plain.Replace(text)))}, Then: domain.Allow}
		gate := &domain.Approvals{Rules: []domain.ApprovalRule{rule}}
		if err := gate.Check(); err != nil {
			require.ErrorContains(t, err, "approvals[0].arguments.to: ", "%q", text)
		} else {
			then := func(arguments string) domain.Permission { return gate.RuleOn(send, arguments, nil).Then }
			require.Equal(t, domain.Allow, then(`{"to":`+quoted(t, text)+`}`), "%q", text)
			require.Equal(t, domain.AskFirst, then(`{"to":`+quoted(t, text+"x")+`}`), "%q", text)
			require.Equal(t, domain.AskFirst, then(`{"to":`+quoted(t, "x"+text)+`}`), "%q", text)
			require.Equal(t, domain.AskFirst, then(text), "%q", text)
		}
		for _, one := range []domain.ApprovalRule{
			{Tool: text, Then: domain.Allow}, {Arguments: map[string]json.RawMessage{text: json.RawMessage(`"ann"`)}, Then: domain.Allow},
			{Arguments: map[string]json.RawMessage{"to": json.RawMessage(text)}, Then: domain.Allow},
		} {
			gate := &domain.Approvals{Rules: []domain.ApprovalRule{one}}
			if err := gate.Check(); err != nil {
				require.ErrorContains(t, err, "approvals[0].", "%q", text)
				continue
			}
			_ = gate.RuleOn(send, `{"to":"ann"}`, nil)
		}
		// Beside a key that the rule looks at stands a naughty one.
		ann := &domain.Approvals{Rules: []domain.ApprovalRule{{Arguments: patterns(`{"to":"ann"}`), Then: domain.Allow}, {Then: domain.Deny}}}
		want := domain.Allow
		if strings.EqualFold(text, "to") {
			want = domain.Deny
		}
		require.Equal(t, want, ann.RuleOn(send, `{"to":"ann",`+quoted(t, text)+`:"eve"}`, nil).Then, "%q", text)
		require.Equal(t, domain.Deny, ann.RuleOn(send, `{"to":"ann",`+quoted(t, text)+`:"eve",`+quoted(t, text)+`:"ann"}`, nil).Then, "%q", text)

		_, err := domain.Trusted(nil).With(domain.Trusted{text: json.RawMessage(`"4711"`)})
		require.Equal(t, name.MatchString(text), err == nil, "%q: %v", text, err)
		given, err := domain.Trusted(nil).With(domain.Trusted{"customer": json.RawMessage(quoted(t, text))})
		require.NoError(t, err)
		var back string
		require.NoError(t, given.Decode("customer", &back))
		require.Equal(t, text, back)
	}
}

// TestHostileJSONAtTheGate: what is no JSON, or no object, is never allowed by its arguments and always denied by them; as a
// trusted value it is refused.
func TestHostileJSONAtTheGate(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(hostile(t, "JSONTestSuite"), "test_parsing", "*.json"))
	require.NoError(t, err)
	require.Greater(t, len(files), 200)
	send, anything := domain.ToolSpec{Name: "send", Effect: domain.ReadOnly}, patterns(`{"to":"*"}`)
	allows := &domain.Approvals{Rules: []domain.ApprovalRule{{Arguments: anything, Then: domain.Allow}, {Then: domain.AskFirst}}}
	denies := &domain.Approvals{Rules: []domain.ApprovalRule{{Arguments: anything, Then: domain.Deny}}}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, arguments := range []string{string(raw), `{"to":"ann","x":` + string(raw) + `}`} {
			if json.Valid([]byte(arguments)) && strings.HasPrefix(strings.TrimSpace(arguments), "{") {
				continue // TestArgumentPatterns has what becomes of these
			}
			require.Equal(t, domain.AskFirst, allows.RuleOn(send, arguments, nil).Then, file)
			require.Equal(t, domain.Deny, denies.RuleOn(send, arguments, nil).Then, file)
		}
		_, err = domain.Trusted(nil).With(domain.Trusted{"customer": raw})
		if !json.Valid(raw) {
			require.ErrorContains(t, err, "trusted.customer: ", file)
		}
	}
}
