package report

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/starter/render"
)

// TestReport: text and JSON are made of the same cells.
func TestReport(t *testing.T) {
	t.Parallel()
	row := func(name string, kills int, p50 time.Duration) Row {
		return Row{{"point", "killed at", name}, {"kills", "kills", kills}, {"equal", "equal", Share{kills - 1, kills}}, {"p50_seconds", "p50", p50}}
	}
	r := Report{
		Rows:  []Row{row("here", 2, 1234567*time.Microsecond), row("there", 1, 0), {{"memory", "memory", "worker"}, {"idle_bytes", "idle", Bytes(12_345_678)}, {"most", "most", nil}}},
		Facts: Row{{"seed", "seed", uint64(7)}, {"fairness", "fairness", 0.5}},
	}
	var lines []string
	for line := range strings.Lines(r.Text(render.Plain(nil))) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	require.Equal(t, []string{
		"killed at kills equal p50", "here 2 1 of 2 1.23 s", "there 1 0 of 1 -", "", "memory idle most", "worker 12 MB -", "", "in all", "seed 7", "fairness 0.500",
	}, lines)
	text, err := json.Marshal(r)
	require.NoError(t, err)
	require.Equal(t, `{"seed":7,"fairness":0.5,"rows":[{"point":"here","kills":2,"equal":1,"p50_seconds":1.235},`+
		`{"point":"there","kills":1,"equal":0,"p50_seconds":0},{"memory":"worker","idle_bytes":12345678,"most":null}],"broken":[]}`, string(text))
	require.Equal(t, 1, r.Row("there").Value("kills"))
	require.Nil(t, r.Row("nowhere").Value("kills"))
	require.NoError(t, r.Err())
	r.Broken = []Broken{{Promise: "steps", Agent: "notes", ID: "n-1", Detail: "one is lost"}, {Promise: "fair", Detail: "it is not"}}
	require.EqualError(t, r.Err(), "broken promise: steps: agent notes (n-1): one is lost\nbroken promise: fair: it is not")
}

func TestPercentile(t *testing.T) {
	t.Parallel()
	var times []time.Duration
	for n := range 200 {
		times = append(times, time.Duration(200-n)*time.Second)
	}
	require.Equal(t, 100*time.Second, Percentile(times, 50))
	require.Equal(t, 198*time.Second, Percentile(times, 99))
	require.Equal(t, 7*time.Second, Percentile([]time.Duration{7 * time.Second}, 99))
	require.Zero(t, Percentile(nil, 50))
}
