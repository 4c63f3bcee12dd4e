package render

import (
	"fmt"

	"everstep/domain/contract"
	"everstep/starter/client"
)

// history says how long the history of the newest run is and how full the model's window, or what else tells.
func (x *sheet) history(v client.ExplainView) {
	if v.Source == contract.FromRecords {
		text := "none is here: the record of the execution tells"
		if v.ImportedAt != nil {
			text += ", which was imported " + moment(*v.ImportedAt)
		}
		x.fact("history", text)
		return
	}
	h := v.History
	text := fmt.Sprintf("%s, %s", Counted(h.Events, "event"), size(h.Bytes))
	if h.Runs > 1 {
		text += fmt.Sprintf(" in run %s of the chain", grouped(int64(h.Runs)))
	}
	if h.BytesPerStep != nil {
		text += fmt.Sprintf(" · %s a step", size(*h.BytesPerStep))
	}
	x.fact("history", text)
	if h.ResetAt != nil {
		x.fact("", "an operator reset the workflow "+moment(*h.ResetAt)+": what was done after that point may be done again")
	}
	next := percent(h.Share) + " of the way to a new run"
	switch {
	case h.Unstored != nil:
		next = unstoredText(*h.Unstored)
	case h.Suggested:
		next = "the server suggests a new run, which begins with the next step"
	case h.StepsLeft != nil:
		next += fmt.Sprintf(" (%s, %s): about %s to go", size(h.ContinueBytes), Counted(h.ContinueEvents, "event"), Counted(*h.StepsLeft, "step"))
	}
	x.fact("", next)
	if c := v.Context; c != nil {
		x.fact("context", contextText(c.Tokens, known(c.Window)))
	}
}
