package client

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gocloud.dev/blob/memblob"

	"everstep/activities/record"
	"everstep/testsuite/stores"
)

// FuzzImportedAgent: whatever a file says of an agent whose digests are right, it is refused, or can be read by all that reads
// an agent, and forked or refused.
func FuzzImportedAgent(f *testing.F) {
	text := stores.Text(f, stores.Sample(f, "ann", 1)[0])
	for _, seed := range stores.Changed(f, text, [][2]string{
		{`"messages_from":0`, `"messages_from":7`}, {`"index":0`, `"index":5`}, {`"step_count":1`, `"step_count":-1`},
		{`"started_at":"2026`, `"started_at":"9999`}, {`"completed_at":"2026`, `"completed_at":"0001`}, {`"steps":[{`, `"steps":[{"number":9000000000,`},
		{`"name":"ann",`, ``}, {`"input_tokens":3`, `"input_tokens":-9223372036854775808`}, {`"output":[`, `"output":[{"role":"tool"},`},
		{`"stop_reason":"completed"`, `"stop_reason":""`}, {`"status":"completed"`, `"status":"failed"`}, {`"execution":{`, `"executionless":{`},
		{`"executions":[{`, `"executions":[{"outcome_unknown":-1,"code":"timed_out",`}, {`"number":1,"step_id"`, `"number":1,"input":{"edits":{"hidden":-4}},"step_id"`},
	}) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ContainsAny(text, "\r\n") {
			return // it is a line
		}
		file := stores.Forged(text)
		store := record.InBucket(memblob.OpenBucket(nil), "mem://")
		defer store.Close()
		done, err := record.Import(t.Context(), store, record.All(strings.NewReader(file)), time.Unix(1, 0))
		if err != nil {
			return
		}
		id := done.New[0].Name
		if id == "" {
			id = done.New[0].AgentID.String()
		}
		c := OfRecords(Config{Records: store}, errors.New("none is up"))
		for range c.Executions(t.Context(), id) {
		}
		for range c.Steps(t.Context(), id, 0) {
		}
		for range c.Messages(t.Context(), id) {
		}
		for range c.ListRecorded(t.Context(), ListOptions{}) {
		}
		_, err = c.Result(t.Context(), id, 0)
		require.NoError(t, err)
		_, err = c.Status(t.Context(), id)
		require.NoError(t, err)
		_, err = c.Explain(t.Context(), id, 0)
		require.NoError(t, err)
		_, err = c.Export(t.Context(), id, 0)
		require.NoError(t, err)
		_, _ = c.Tree(t.Context(), id, 0)
		_, _ = c.Diff(t.Context(), Point{ID: id}, Point{ID: id, Step: new(0)})
		_, err = c.Fork(t.Context(), Point{ID: id}, ForkOptions{Prompt: "on"})
		require.Error(t, err, "no server is there")
	})
}
