package whole_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// A failureRow is a way in which model APIs fail, with what an execution makes
// of it in each of its shapes.
type failureRow struct {
	name  string
	cases []failureCase
}

// failureRows lists all ways that are known: from recorded traffic, public bug
// reports, and what official SDKs take for success.
func failureRows() []failureRow {
	return []failureRow{
		{"DNS, connect, TLS; reset or end of stream before any header", unreachable()},
		{"408, 409, 429 (rate), 500, 502, 503, 504, 529", busy()},
		{"429 that means money", money()},
		{"401, 403; xAI answers 400 to a bad key", badKeys()},
		{"404 model", noModel()},
		{"400 invalid request", badRequests()},
		{"context too long", tooLong()},
		{"200 with a JSON error", errorsInside()},
		{"200 with HTML, an empty body, another content type, invalid JSON", noAnswers()},
		{"an error event in the stream", errorEvents()},
		{"the stream ends without its terminal marker", cutStreams()},
		{"the stream stalls", stalls()},
		{"tool index reused, missing or -1; id repeated; name empty in later deltas", callPieces()},
		{"a second finish chunk; a usage-only chunk with no choices; comment lines", strayChunks()},
		{"arguments that are not JSON, not an object, or break the schema", badArguments()},
		{"cut by the token limit inside a tool call", cutCalls()},
		{"unknown tool", unknownTools()},
		{"ids duplicated in a message or over turns, or empty", sharedIDs()},
		{"no choices; null content; a stop without text or tools", emptyAnswers()},
		{"finish reasons", finishReasons()},
		{"refusal", refusals()},
		{"content filter", filters()},
		{"pause_turn", pauses()},
		{"reasoning not sent back as it was", keptReasoning()},
		{"a call without its result", pairedCalls()},
		{"usage missing, null, zero, or only output tokens", usages()},
		{"time-out or reset after the request was sent", lostAnswers()},
		{"CR, LF, CRLF, BOM, characters split over reads, lines over 64 KB", legalStreams()},
		{"a response larger than its limit, or without end", endless()},
		{"a redirect from the model's URL", redirects()},
		{"error bodies", errorBodies()},
		{"Retry-After as found", retryAfter()},
		{"keys that differ by case, and duplicates", twinKeys()},
	}
}

// TestFailures plays all of them against executions on a real server: what
// status, explain and the exit code tell, what was asked of the provider, what
// was counted and which tools ran. The cases of a row run at once, and are looked
// at one after the other: more than a few rows at once are too much for one
// server. With -short the first three cases of each row are played.
func TestFailures(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	t.Cleanup(func() { require.NotContains(t, s.log.String(), failureKey) })
	for r, row := range failureRows() {
		if testing.Short() {
			row.cases = row.cases[:min(3, len(row.cases))]
		}
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			begun := make([]*part, len(row.cases))
			var all sync.WaitGroup
			for n, c := range row.cases {
				if c.alone == nil {
					all.Go(func() { begun[n] = s.begin(t, c, slug(r+1, n)) })
				}
			}
			all.Wait()
			for n, c := range row.cases {
				t.Run(c.name, func(t *testing.T) {
					if c.alone != nil {
						c.alone(t)
						return
					}
					require.NotNil(t, begun[n])
					begun[n].see(t)
					if n == 0 {
						begun[n].seeCLI(t)
					}
				})
			}
		})
	}
}

// TestFailuresAreAllThere: each way has a case, and no two have one name.
func TestFailuresAreAllThere(t *testing.T) {
	t.Parallel()
	begins := []string{
		"DNS", "408", "429 that means money", "401", "404", "400", "context too long", "200 with a JSON", "200 with HTML",
		"an error event", "the stream ends", "the stream stalls", "tool index", "a second finish", "arguments", "cut by the token limit",
		"unknown tool", "ids duplicated", "no choices", "finish reasons", "refusal", "content filter", "pause_turn", "reasoning",
		"a call without its result", "usage", "time-out or reset", "CR, LF", "a response larger", "a redirect",
		"error bodies", "Retry-After", "keys that differ by case",
	}
	rows := failureRows()
	require.Len(t, rows, len(begins))
	for i, row := range rows {
		require.True(t, strings.HasPrefix(row.name, begins[i]), row.name)
		require.NotEmpty(t, row.cases, row.name)
		names := map[string]bool{}
		for _, c := range row.cases {
			require.NotEmpty(t, c.name, row.name)
			require.False(t, names[c.name], "%s: %s stands twice", row.name, c.name)
			names[c.name] = true
			require.NotEqual(t, c.alone == nil, len(c.plays) == 0 && c.want.failed == nil, "%s: %s plays nothing", row.name, c.name)
		}
	}
}
