package domain_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

func TestQuestionCheck(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		question domain.Question
		says     string
	}{
		"a text":                   {domain.Question{Text: "?"}, ""},
		"choices and a default":    {domain.Question{Text: "?", Choices: []string{"a", "b"}, Default: json.RawMessage(`"b"`), ExpiresIn: 1}, ""},
		"the longest time":         {domain.Question{Text: "?", ExpiresIn: 30 * 24 * 3600}, ""},
		"nothing":                  {domain.Question{Text: " \n"}, "question: is empty"},
		"no UTF-8":                 {domain.Question{Text: "\xff"}, "not valid UTF-8"},
		"too long":                 {domain.Question{Text: strings.Repeat("x", domain.MaxQuestion+1)}, "question: has 4097 bytes"},
		"too many choices":         {domain.Question{Text: "?", Choices: make([]string, 21)}, "choices: are 21"},
		"an empty choice":          {domain.Question{Text: "?", Choices: []string{"a", " "}}, "number 2 is empty"},
		"a choice twice":           {domain.Question{Text: "?", Choices: []string{"a", "a"}}, `"a" is there twice`},
		"both":                     {domain.Question{Text: "?", Choices: []string{"a"}, Schema: json.RawMessage(`{}`)}, "choices, schema: give one"},
		"no schema":                {domain.Question{Text: "?", Schema: json.RawMessage(`{`)}, "schema: is no JSON"},
		"too long a time":          {domain.Question{Text: "?", ExpiresIn: 30*24*3600 + 1}, "expires_in: is 2592001 seconds"},
		"a time before":            {domain.Question{Text: "?", ExpiresIn: -1}, "expires_in: is -1 seconds"},
		"a default without a time": {domain.Question{Text: "?", Default: json.RawMessage(`"b"`)}, "default: is of no use without expires_in"},
		"a default of no choice":   {domain.Question{Text: "?", Choices: []string{"a"}, Default: json.RawMessage(`"b"`), ExpiresIn: 1}, "none of the choices"},
		"a default of no text":     {domain.Question{Text: "?", Default: json.RawMessage(`1`), ExpiresIn: 1}, "default: is no string"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.says == "" {
				require.NoError(t, test.question.Check())
				return
			}
			require.ErrorContains(t, test.question.Check(), test.says)
		})
	}
}

// TestAnswerMark: what a person has said is marked, in a copy; what a default says is not.
func TestAnswerMark(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	message := domain.Message{Role: domain.RoleTool, Metadata: domain.Metadata{"a": json.RawMessage("1")}}
	asked := domain.Wait{Kind: domain.WaitQuestion, Digest: domain.CallDigest("ask_user", "{}"), Since: at, Ask: &domain.Question{Text: "?"}}
	marked := asked.Answered(domain.Answer{Verdict: domain.AnsweredByPerson, By: "ann \"x\"", Reason: "why", At: at}).Mark(message)
	require.Equal(t, domain.Metadata{"a": json.RawMessage("1"), "provenance": json.RawMessage(`"person"`), "said_by": json.RawMessage(`"ann \"x\""`)}, marked.Metadata)
	require.Len(t, message.Metadata, 1)
	require.Equal(t, message, asked.Mark(message))
	require.Equal(t, domain.Expired, asked.Lapsed(at).Verdict())
	asked.Ask = &domain.Question{Text: "?", Default: json.RawMessage(`"b"`), ExpiresIn: 1}
	require.Equal(t, message, asked.Lapsed(at).Mark(message))
	require.Equal(t, domain.AnsweredByDefault, asked.Lapsed(at).Verdict())
}

// TestWaitCut bounds what is shown, and says so.
func TestWaitCut(t *testing.T) {
	t.Parallel()
	asked := domain.Wait{Kind: domain.WaitQuestion, Ask: &domain.Question{Text: strings.Repeat("é", 500), Choices: []string{"a"}, ExpiresIn: 7}}
	require.Equal(t, asked, asked.Cut(2000))
	cut := asked.Cut(101)
	require.Equal(t, strings.Repeat("é", 50), cut.Ask.Text)
	require.Empty(t, cut.Ask.Choices)
	require.Equal(t, []int{1001, 7}, []int{cut.Bytes, int(cut.Ask.ExpiresIn)})
}
