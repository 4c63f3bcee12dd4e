package render

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client"
)

// Schedules is the table of schedules.
func Schedules(all []client.ListedSchedule, now time.Time) Table {
	t := Table{Gives: "WHEN", Head: []string{"NAME", "WHEN", "NEXT", "LAST", "RUNS"}}
	for _, s := range all {
		next := "-"
		switch {
		case s.Paused:
			next = "paused"
		case len(s.NextRuns) > 0:
			next = "in " + Duration(s.NextRuns[0].Sub(now))
		}
		t.Rows = append(t.Rows, []string{
			OneLine(s.Name), whenText(s.When), next, ago(s.LastRun, now), cmp.Or(Within("session ", OneLine(s.Session)), ModelName(s.Model)),
		})
	}
	return t
}

// whenText is when a schedule runs, in a line.
func whenText(w client.When) string {
	parts := slices.Clone(w.Cron)
	if w.Every > 0 {
		parts = append(parts, "every "+spanText(w.Every)+where(w.Offset > 0, " after "+spanText(w.Offset)))
	}
	text := strings.Join(parts, "; ")
	return OneLine(text + where(len(w.Cron) > 0 || w.TimeZone != "", " ("+cmp.Or(w.TimeZone, "UTC")+")"))
}

// zoned is a time in the reader's zone, with its name: a line of cron may be of another.
func zoned(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format(time.DateTime + " MST")
}

// spanText is a duration as flags take it.
func spanText(s contract.Span) string {
	text := time.Duration(s).String()
	if short, ok := strings.CutSuffix(text, "m0s"); ok {
		text = short + "m"
	}
	if short, ok := strings.CutSuffix(text, "h0m"); ok {
		text = short + "h"
	}
	return text
}

// Schedule is all of a schedule for people: each fact under its name, and its newest runs.
func Schedule(out *Output, v client.ScheduleView, now time.Time) string {
	x := &details{theme: out.Theme, now: now}
	state := "runs"
	switch {
	case v.Paused:
		state = "paused" + Within(": ", v.Note)
	case len(v.NextRuns) == 0:
		state = "over"
	}
	x.printf("%s · %s\n", out.Theme.Head(OneLine(v.Name)), OneLine(state))
	x.fact("when", whenText(v.When)+where(v.When.Jitter > 0, ", up to "+spanText(v.When.Jitter)+" later"))
	x.fact("from", zoned(v.When.StartAt))
	x.fact("until", zoned(v.When.EndAt))
	for i, at := range v.NextRuns {
		x.fact(where(i == 0, "next"), zoned(at)+" (in "+Duration(at.Sub(now))+")")
	}
	x.fact("overlap", string(v.Overlap)+where(v.PauseOnFailure, "; pauses when an execution fails"))
	x.fact("begins", cmp.Or(Within("an execution of session ", OneLine(v.Session)), "an agent of each run's own"))
	x.fact("model", ModelName(v.Model))
	x.fact("tools", OneLine(strings.Join(v.Tools, ", ")))
	x.fact("budget", budgetFact(v.Budget, domain.Unlimited()))
	x.fact("trusted", trustedText(v.Trusted))
	x.fact("prompt", shortened(OneLine(v.Prompt), 200))
	x.fact("queue", OneLine(v.TaskQueue))
	x.fact("so far", Joined(", ", Counted(v.Begun, "run"), where(v.Skipped > 0, grouped(v.Skipped)+" skipped"), where(v.Missed > 0, grouped(v.Missed)+" missed")))
	if len(v.Runs) == 0 {
		return x.String()
	}
	runs := Table{Head: []string{"DUE", "STATUS", "TOOK", "EXEC", "ID"}}
	for _, r := range v.Runs {
		runs.Rows = append(runs.Rows, []string{
			zoned(r.DueAt), runStatus(r), took(r.BeganAt, r.EndedAt, !r.Open, now), where(r.Number > 0, grouped(r.Number)), cmp.Or(OneLine(r.ID), "-"),
		})
	}
	text := x.String() + "\n" + runs.Render(out)
	for _, r := range v.Runs {
		if done := Effects(r.EffectCounts); done != "" && r.Status != domain.StatusCompleted {
			text += out.Fold(OneLine("run of "+zoned(r.DueAt)+" has done: "+done) + "\n")
		}
		text += where(r.Why != "", out.Fold(out.Theme.Bad(OneLine("run of "+zoned(r.DueAt)+" did nothing: "+r.Why))+"\n"))
	}
	return text
}

func runStatus(r client.ScheduleRun) string {
	switch {
	case r.Gone:
		return "deleted on the server"
	case r.Open && r.ID == "":
		return "waits for a worker"
	case r.Open && r.Status == domain.StatusPending:
		return "waits for the session"
	case r.Why != "":
		return "did nothing"
	}
	return string(r.Status) + Within(" (", endedBy(r.Code, r.StopReason, r.SessionLimit), ")")
}

// UpdatedSchedule is what an update has changed, above all of the schedule.
func UpdatedSchedule(out *Output, u client.UpdatedSchedule, now time.Time) string {
	text := ""
	for _, d := range u.Changed {
		text += out.Theme.Good("changed") + " " + OneLine(d.Field) + ": " + changedText(d.Before) + " → " + changedText(d.After) + "\n"
	}
	return text + Schedule(out, u.ScheduleView, now)
}

// changedText is a value as people read it: a text by itself, all else as JSON.
func changedText(value json.RawMessage) string {
	text := string(value)
	var words string
	if json.Unmarshal(value, &words) == nil {
		text = words
	}
	if text == "" {
		return "none"
	}
	return shortened(OneLine(text), 200) // JSON has it whole
}
