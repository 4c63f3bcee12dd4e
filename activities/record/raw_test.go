package record_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/record"
	"everstep/domain"
	"everstep/domain/account"
	"everstep/testsuite/stores"
)

// hard is text that JSON can write in several ways.
const hard = "<b> & \\u003c \"quoted\" \x00 \x1b[31m \x7f \u0085 \u2028 \u202e \U000e0041 \xff"

// rawOf is the account of a record as a workflow answers it, with the JSON of its steps and events.
func rawOf(t *testing.T, r record.Record) (account.Raw, string) {
	t.Helper()
	told := accountOf(t, r)
	page, err := json.Marshal(account.Page{Account: told})
	require.NoError(t, err)
	var raw account.RawPage
	require.NoError(t, json.Unmarshal(page, &raw))
	return raw.Raw, string(page)
}

// TestARawRecordIsTheRecord: what is kept of steps and events that nobody decoded is read as what was decoded and encoded again,
// and is the JSON of the page byte for byte.
func TestARawRecordIsTheRecord(t *testing.T) {
	t.Parallel()
	for _, r := range stores.Sample(t, "ann", 2) {
		call := domain.ToolCall{ID: "1", Name: "look", Arguments: hard}
		answer := domain.Message{Role: domain.RoleAssistant, Parts: []domain.Part{{Type: domain.PartText, Text: hard}}, ToolCalls: []domain.ToolCall{call}}
		answer.Metadata = domain.Metadata{"note": json.RawMessage(`{"a": "\u003c<"}`)}
		r.Steps[0].Output = []domain.Message{answer}
		r.Steps[0].ToolExecutions = []domain.ToolExecution{{ID: r.Steps[0].ID.Tool(0), Call: call, Value: hard}}
		r.Events[1].Type, r.Events[1].Data = domain.EventStopSignalReceived, domain.StopEvent{Reason: domain.UserRequested, Source: hard}
		raw, page := rawOf(t, r)
		made, err := record.OfRaw(raw)
		require.NoError(t, err)
		require.Equal(t, r.Ref(), made.Ref())
		require.Empty(t, made.Missing())
		store, _ := inDirectory(t)
		require.NoError(t, store.Record(t.Context(), made))
		kept, err := store.Get(t.Context(), r.Ref())
		require.NoError(t, err)

		var values account.Page
		require.NoError(t, domain.DecodeInto([]byte(page), &values))
		decoded, err := record.Of(values.Account)
		require.NoError(t, err)
		keep(t, store, decoded)
		want, err := store.Get(t.Context(), r.Ref())
		require.NoError(t, err)
		require.Equal(t, written(t, want), written(t, kept))

		text, err := made.MarshalJSON()
		require.NoError(t, err)
		for _, item := range append(raw.Steps, raw.Events...) {
			require.Contains(t, page, string(item.JSON))
			safe, err := domain.Encode(item.JSON) // but for characters that steer a terminal, which stand in a record escaped
			require.NoError(t, err)
			require.Contains(t, string(text), string(safe))
		}
	}
}

// TestARawRecordSaysWhatIsMissing, and takes that from what runs have recorded before they went.
func TestARawRecordSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	r := stores.Sample(t, "ann", 1)[0]
	whole, _ := rawOf(t, r)
	rest := whole
	rest.Steps, rest.Events = nil, whole.Events[1:]
	made, err := record.OfRaw(rest)
	require.NoError(t, err)
	require.Equal(t, []account.Missing{{Part: account.Steps, Execution: 1, From: 1, To: 1}, {Part: account.Events, Execution: 1, From: 1, To: 1}}, made.Missing())
	made, err = made.WithParts([]record.Part{{Ref: r.Ref(), Steps: r.Steps, Events: r.Events}, {Ref: r.Ref(), Events: r.Events[:1]}})
	require.NoError(t, err)
	require.Empty(t, made.Missing())
	store, _ := inDirectory(t)
	require.NoError(t, store.Record(t.Context(), made))
	kept, err := store.Get(t.Context(), r.Ref())
	require.NoError(t, err)
	require.Equal(t, written(t, r), written(t, kept))
}

// TestNoRawRecordIsMadeThatNobodyReads.
func TestNoRawRecordIsMadeThatNobodyReads(t *testing.T) {
	t.Parallel()
	for field, spoil := range map[string]func(*account.Raw){
		"steps":                     func(a *account.Raw) { a.Steps[0].Number = 2 },
		"events":                    func(a *account.Raw) { a.Events[0].Number = -1 },
		"messages[0].index":         func(a *account.Raw) { a.Messages[0].Index = 99 },
		"executions[0].run_id":      func(a *account.Raw) { a.Executions[0].RunID = "another" },
		"executions[0].constraints": func(a *account.Raw) { a.Executions[0].Constraints = nil },
	} {
		raw, _ := rawOf(t, stores.Sample(t, "ann", 1)[0])
		spoil(&raw)
		_, err := record.OfRaw(raw)
		require.ErrorContains(t, err, field)
	}
}
