package client

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/record"
	"everstep/domain/account"
	"everstep/domain/contract"
)

// What came out of a file does not choose what is shown in place of what was recorded.
func TestAnImportedRecordTakesNoPlaceOfARecordedOne(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	of := func(session, run string, number int, ended time.Time, imported bool) record.Record {
		r := record.Record{Execution: account.Execution{Outcome: contract.Outcome{Number: number}, CompletedAt: ended, RunID: run}}
		r.Head.Run.First = session
		if imported {
			r.Imported = now
		}
		return r
	}
	own, forged := of("one", "last", 1, now, false), of("two", "last", 1, now.AddDate(900, 0, 0), true)
	require.Negative(t, lastRecorded(forged, own))
	require.Equal(t, "one", sessionOf([]record.Record{forged, own}, "last"), "both say that they ended in this run")
	require.Equal(t, "one", sessionOf([]record.Record{forged, own}, "one"))
	require.Empty(t, sessionOf([]record.Record{forged, own}, "another"))
	require.Equal(t, []record.Record{own}, eachOnce([]record.Record{forged, own}))
	require.Equal(t, []record.Record{own}, eachOnce([]record.Record{own, forged}))
	later := of("three", "x", 1, now.Add(time.Hour), false)
	require.Equal(t, []record.Record{later, of("one", "last", 2, now, false)}, eachOnce([]record.Record{own, later, of("one", "last", 2, now, false)}))
}
