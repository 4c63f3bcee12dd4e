package kills

import (
	"fmt"
	"strconv"
	"strings"

	"everstep/starter/render"
)

// A LoadReport is what sessions cost.
type LoadReport struct {
	Idle  *IdleReport  `json:"idle,omitempty"`
	Turns *TurnsReport `json:"turns,omitempty"`
	// MachineLoad is what the machine had to do before, by its load average of a minute, and MachineLoadAfter at the end;
	// empty where it does not tell.
	MachineLoad      string  `json:"machine_load,omitzero"`
	MachineLoadAfter string  `json:"machine_load_after,omitzero"`
	Seconds          float64 `json:"seconds"`
	// Broken says which promises were not kept.
	Broken []string `json:"broken"`
}

// An IdleReport is what idle sessions cost, each with one turn behind it.
type IdleReport struct {
	Sessions      int     `json:"sessions"`
	OpenedSeconds float64 `json:"opened_seconds"` // to the last one's first answer
	// Before and After are from before the sessions were opened and from when they lay idle, Restarted from when the worker
	// was started anew, and has none of them in memory.
	Before    Memory `json:"before"`
	After     Memory `json:"after"`
	Restarted Memory `json:"restarted"`
	// HistoryBytes are those of a session on average, the most those of the largest.
	HistoryBytes      int64 `json:"history_bytes"`
	MostHistoryBytes  int64 `json:"most_history_bytes"`
	MostHistoryEvents int64 `json:"most_history_events"`
	// Warm and Cold are of sessions that the worker had in memory, and had not.
	Warm Waking `json:"warm"`
	Cold Waking `json:"cold"`
}

// Memory is what the processes hold, in bytes. Zero: the machine does not tell.
type Memory struct {
	Worker int64 `json:"worker_bytes"`
	Server int64 `json:"server_bytes"`
}

// A Waking is the time from a message to its answer, in seconds, of idle sessions one after the other.
type Waking struct {
	Sessions int     `json:"sessions"`
	P50      float64 `json:"p50_seconds"`
	P99      float64 `json:"p99_seconds"`
}

// A TurnsReport is what the turns of one session cost.
type TurnsReport struct {
	Turns  int         `json:"turns"`
	Runs   int         `json:"runs"`
	Bytes  int64       `json:"history_bytes"` // of all runs
	Blocks []TurnBlock `json:"blocks"`
}

// A TurnBlock is a part of the turns.
type TurnBlock struct {
	From int `json:"from"`
	To   int `json:"to"`
	Runs int `json:"runs"` // how many there were at its end
	// BytesATurn are those that all runs' histories have grown by, what a new run begins with included.
	BytesATurn int64   `json:"bytes_a_turn"`
	P50        float64 `json:"p50_seconds"`
	Slowest    float64 `json:"slowest_seconds"`
}

// growth is how much more than in the second block a turn may take in the last one.
const growth = 1.2

// judge notes where a turn takes more and more bytes. Time is shown and not judged: other work is on the machine too.
func (r *LoadReport) judge() {
	if r.Turns == nil || len(r.Turns.Blocks) < 4 {
		return
	}
	blocks := r.Turns.Blocks
	second, last := blocks[1], blocks[len(blocks)-1]
	if float64(last.BytesATurn) > growth*float64(second.BytesATurn) {
		r.Broken = append(r.Broken, fmt.Sprintf("a turn took %d bytes of history at turn %d and %d at turn %d", second.BytesATurn, second.To, last.BytesATurn, last.To))
	}
}

// IdleTable is what idle sessions cost, as people read it.
func (r LoadReport) IdleTable() render.Table {
	i := r.Idle
	each := func(after, before int64) string {
		if after == 0 {
			return "-"
		}
		return fmt.Sprintf("%.0f KB", max(float64(after-before), 0)/float64(i.Sessions)/1000)
	}
	return render.Table{Numbers: true, Head: []string{"", "before", "idle", "a session", "restarted"}, Rows: [][]string{
		{"worker", megabytes(i.Before.Worker), megabytes(i.After.Worker), each(i.After.Worker, i.Before.Worker), megabytes(i.Restarted.Worker)},
		{"server", megabytes(i.Before.Server), megabytes(i.After.Server), each(i.After.Server, i.Before.Server), megabytes(i.Restarted.Server)},
	}}
}

// WakingTable is how long the first answer takes.
func (r LoadReport) WakingTable() render.Table {
	row := func(name string, w Waking) []string {
		return []string{name, strconv.Itoa(w.Sessions), fmt.Sprintf("%.0f ms", 1000*w.P50), fmt.Sprintf("%.0f ms", 1000*w.P99)}
	}
	return render.Table{Numbers: true, Head: []string{"first answer", "woken", "p50", "p99"}, Rows: [][]string{
		row("in memory", r.Idle.Warm), row("after a restart", r.Idle.Cold),
	}}
}

// TurnsTable is what the turns of a long session cost.
func (r LoadReport) TurnsTable() render.Table {
	t := render.Table{Numbers: true, Head: []string{"turns", "bytes a turn", "p50", "slowest", "runs"}}
	for _, b := range r.Turns.Blocks {
		t.Rows = append(t.Rows, []string{
			fmt.Sprintf("%d to %d", b.From, b.To), strconv.FormatInt(b.BytesATurn, 10),
			fmt.Sprintf("%.0f ms", 1000*b.P50), fmt.Sprintf("%.0f ms", 1000*b.Slowest), strconv.Itoa(b.Runs),
		})
	}
	return t
}

func megabytes(n int64) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f MB", float64(n)/1e6)
}

// Told are the tables, one below the other.
func (r LoadReport) Told(out *render.Output) string {
	var all []string
	if r.Idle != nil {
		all = append(all, r.IdleTable().Render(out), r.WakingTable().Render(out))
	}
	if r.Turns != nil {
		all = append(all, r.TurnsTable().Render(out))
	}
	return strings.Join(all, "\n")
}
