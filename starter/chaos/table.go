package chaos

import (
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Table is the report as people read it.
func (r Report) Table() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	write := func(cells ...string) { _, _ = fmt.Fprintln(w, strings.Join(cells, "\t")+"\t") } // a builder takes all
	write("boundary", "kills", "steps lost", "effects doubled", "outcome unknown", "transcripts equal", "events equal", "hooks again", "extra requests", "go on p50", "p99")
	for _, row := range r.Rows {
		write(row.cells(string(row.Boundary))...)
	}
	write(r.Total.cells("all")...)
	_ = w.Flush() // a builder takes all
	return b.String()
}

func (r Row) cells(name string) []string {
	return []string{
		name, strconv.Itoa(r.Kills), strconv.Itoa(r.StepsLost), strconv.Itoa(r.EffectsDoubled), strconv.Itoa(r.OutcomeUnknown),
		fmt.Sprintf("%d of %d", r.TranscriptsEqual, r.Kills), fmt.Sprintf("%d of %d", r.EventsEqual, r.Kills),
		strconv.Itoa(r.HooksAgain), strconv.Itoa(r.ExtraRequests),
		r.time(r.P50), r.time(r.P99),
	}
}

func (r Row) time(seconds float64) string {
	if len(r.times) == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f s", seconds)
}
