package render

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"everstep/domain"
	"everstep/starter/client"
)

// steps writes a line a step under a head, with what happened in it below.
func (x *sheet) steps(v client.ExplainView) {
	if len(v.Steps) == 0 {
		return
	}
	t := Table{Head: []string{"", "step", "type", "at", "took", "in", "cached", "out", "reasoning", "cost", "finish"}}
	for _, s := range v.Steps {
		t.Rows = append(t.Rows, stepCells(s, v.StartedAt))
	}
	widths := t.widths(0)
	writeRow(&x.Builder, t.Head, widths, x.theme.Faint)
	for i, s := range v.Steps {
		if hidden := len(v.Steps) - 2*keptEnds; len(v.Steps) > shownSteps && i >= keptEnds && i < keptEnds+hidden {
			if i == keptEnds {
				fmt.Fprintf(x, "    %s\n", x.theme.Faint(more(hidden, "step")+"; --json has them all"))
			}
			continue
		}
		paint := plain
		switch {
		case s.InProgress:
			paint = x.theme.name
		case s.Type != nil && *s.Type == domain.StepError:
			paint = x.theme.Warn
		}
		writeRow(&x.Builder, t.Rows[i], widths, paint)
		x.inside(s)
	}
}

func stepCells(s client.ExplainStep, began *time.Time) []string {
	kind := "in progress"
	if s.Type != nil {
		kind = string(*s.Type)
	}
	if s.Interrupted {
		kind += ", cut off"
	}
	at, took, finish := "", "?", ""
	if began != nil && s.StartedAt != nil {
		at = "+" + Duration(s.StartedAt.Sub(*began))
	}
	if s.Milliseconds != nil {
		took = millis(*s.Milliseconds)
	} else if s.InProgress {
		took = "…"
	}
	if s.FinishReason != nil {
		finish = string(*s.FinishReason)
	}
	in := grouped(s.Usage.InputTokens)
	if s.Usage.Estimated {
		in = "~" + in
	}
	return []string{
		"", grouped(int64(s.Number)), kind, at, took, in, grouped(s.Usage.CacheReadTokens),
		grouped(s.Usage.OutputTokens), grouped(s.Usage.ReasoningTokens), cmp.Or(costWords(s.CostNanoUSD), "?"), finish,
	}
}

func (x *sheet) inside(s client.ExplainStep) {
	line := func(text string) { fmt.Fprintf(x, "        %s\n", text) }
	if s.QueuedMilliseconds > 0 {
		line(x.theme.Faint("waited " + millis(s.QueuedMilliseconds) + " for its turn (rate limit)"))
	}
	for _, r := range s.Retries {
		line(x.theme.Warn(retryWords(r)))
	}
	for _, c := range s.Compactions {
		line(x.theme.Faint(compactionWords(c)))
	}
	for i, tool := range s.Tools {
		folded := i >= shownTools && len(s.Tools) > shownTools+1
		if folded && i == shownTools {
			line(more(len(s.Tools)-i, "call"))
		}
		if !folded || tool.Error != nil { // what did not go well is told
			line(x.toolLine(tool))
		}
	}
	for _, e := range s.Errors {
		line(x.theme.Bad("error " + errorWords(e)))
	}
}

func (x *sheet) toolLine(tool client.ExplainTool) string {
	took := ""
	if tool.Milliseconds != nil {
		took = millis(*tool.Milliseconds)
	}
	text := joined(" · ", callWords(tool.Tool, tool.Arguments), took, where(tool.Attempts > 1, Counted(int64(tool.Attempts), "attempt")),
		strings.ReplaceAll(string(tool.Outcome), "_", " "))
	if tool.Error != nil {
		return x.theme.Bad(text + ": " + OneLine(tool.Error.Message))
	}
	return text
}

func retryWords(r client.ExplainRetry) string {
	text := Counted(int64(r.Attempts), "failed attempt") + " · " + tokens(r.Usage.TotalTokens, r.Usage.Estimated) +
		within(", ", costWords(r.CostNanoUSD), "") + ": " + OneLine(r.Reason)
	if r.Code != nil {
		text += " (" + string(*r.Code) + ")"
	}
	return text
}

func compactionWords(c client.ExplainCompaction) string {
	if c.Kind == client.CompactionCleared {
		return fmt.Sprintf("compacted: the results of tools before message %s are shown by a note", grouped(int64(c.Before)))
	}
	return fmt.Sprintf("compacted: the messages before message %s are summed up · %s", grouped(int64(c.Before)), tokens(c.Usage.TotalTokens, c.Usage.Estimated))
}

func errorWords(e domain.Error) string {
	return cmp.Or(string(e.Code), string(e.Kind)) + ": " + OneLine(e.Message)
}

func totalWords(v client.ExplainView) string {
	t, u := v.Totals, v.Totals.Usage
	used := fmt.Sprintf("%s (%s in, %s cached, %s out, %s reasoning)", tokens(u.TotalTokens, u.Estimated),
		grouped(u.InputTokens), grouped(u.CacheReadTokens), grouped(u.OutputTokens), grouped(u.ReasoningTokens))
	cost := where(t.Steps > 0, costWords(t.CostNanoUSD))
	if t.CostNanoUSD == nil {
		cost = "cost unknown"
	}
	return joined(" · ", grouped(int64(t.Steps)), where(u.TotalTokens > 0, used), cost, some(t.ToolCalls, "tool call"))
}
