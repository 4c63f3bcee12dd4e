package client

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/enum"
)

// A ListFilter chooses agents of a list by what is told of them. The zero value leaves none out.
type ListFilter struct {
	// Statuses leaves out agents that are in none of these. Nil: none is left out.
	Statuses []ListStatus
	// Reasons leaves out agents whose newest execution ended for none of these stop reasons or codes of errors.
	Reasons []string
	// Agent leaves out agents of other names; * stands for any characters. One that is set leaves out all without a name.
	Agent string
	// Since leaves out agents of which the newest run of their workflow began before.
	Since time.Time
	// Parent leaves out all but the sub-agents that this agent has started itself, and Roots all sub-agents.
	Parent string
	Roots  bool
	// Schedule leaves out agents that the schedule of this name has not begun.
	Schedule string
	// Query is a list filter of Temporal's own, which an agent's workflow has to fit too.
	Query string
}

// A ListStatus says where an agent of a list stands.
type ListStatus string

const (
	// ListInProgress: an execution is in progress, be it paused or asked to stop.
	ListInProgress ListStatus = "in_progress"
	// ListPaused: one is in progress in which nothing new starts.
	ListPaused ListStatus = "paused"
	// ListStopping: one is in progress that was asked to stop.
	ListStopping ListStatus = "stopping"
	// ListIdle: the session waits for a message.
	ListIdle ListStatus = "idle"
	// ListSuspended: the session takes no message until it is unsuspended.
	ListSuspended ListStatus = "suspended"
	// ListCompleted: the newest execution ended by itself, also in a session that waits for a message.
	ListCompleted ListStatus = "completed"
	// ListStopped: it was stopped.
	ListStopped ListStatus = "stopped"
	// ListFailed: it failed.
	ListFailed ListStatus = "failed"
)

// UnmarshalText accepts the known statuses only.
func (s *ListStatus) UnmarshalText(text []byte) error {
	return enum.Decode(s, text, "status", ListInProgress, ListPaused, ListStopping, ListIdle, ListSuspended, ListCompleted, ListStopped, ListFailed)
}

// In reports whether an agent of a list is in a status. What is foreign is in none.
func (l Listed) In(status ListStatus) bool {
	switch {
	case l.Foreign:
		return false
	case status == ListPaused:
		return l.Paused
	case status == ListStopping:
		return l.Stopping
	case status == ListIdle:
		return l.Open && l.Status.Terminal() && !l.Suspended
	case status == ListSuspended:
		return l.Suspended
	}
	return string(l.Status) == string(status)
}

func (f ListFilter) check() error {
	if _, err := path.Match(f.Agent, ""); err != nil || strings.ContainsAny(f.Agent, `?[]\`) {
		return invalidf("agent: %q is no name; give one in which * may stand for any characters", domain.Shorten(f.Agent, 100))
	}
	if _, err := agentOf(f.Parent); f.Parent != "" && err != nil {
		return invalidf("parent: %s", err)
	}
	if f.Schedule != "" && domain.CheckAgentName(f.Schedule) != nil {
		return invalidf("schedule: %q is no name of one", domain.Shorten(f.Schedule, 100))
	}
	for _, status := range f.Statuses {
		if err := domain.CheckWord(status); err != nil {
			return err
		}
	}
	return nil
}

// keeps reports whether an agent is listed.
func (f ListFilter) keeps(l Listed) bool {
	if len(f.Statuses) > 0 && !slices.ContainsFunc(f.Statuses, l.In) {
		return false
	}
	return len(f.Reasons) == 0 || !l.Foreign && slices.ContainsFunc(f.Reasons, func(reason string) bool {
		return reason != "" && (reason == string(l.StopReason) || reason == string(l.Code))
	})
}

// named reports whether an agent of a name, empty for none, is meant.
func (f ListFilter) named(name string) bool {
	meant, _ := path.Match(f.Agent, name) // it was checked
	return f.Agent == "" || name != "" && meant
}

// query is for the server's list. Runs that went on in another one are left out.
func (f ListFilter) query(running bool) string {
	status := "!= 'ContinuedAsNew'"
	if running {
		status = "= 'Running'"
	}
	query := fmt.Sprintf("WorkflowType = '%s' AND ExecutionStatus %s", contract.Execute, status)
	and := func(given bool, format, value string) {
		if given {
			query += " AND " + fmt.Sprintf(format, value)
		}
	}
	parent, _, _ := strings.Cut(f.Parent, SessionMark)
	and(f.Agent != "" && domain.CheckAgentName(f.Agent) == nil, "WorkflowId = '%s'", domain.WorkflowID(f.Agent))
	and(!f.Since.IsZero(), "StartTime >= '%s'", f.Since.UTC().Format(time.RFC3339Nano))
	and(f.Parent != "", "ParentWorkflowId = '%s'", domain.WorkflowID(parent))
	and(f.Roots, "(ParentWorkflowId IS NULL OR ParentWorkflowId STARTS_WITH '%s')", contract.ScheduledIDPrefix)
	and(f.Schedule != "", "TemporalScheduledById = '%s'", f.Schedule)
	and(f.Query != "", "(%s)", f.Query)
	return query
}
