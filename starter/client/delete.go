package client

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/enum"
	"everstep/starter/client/internal/history"
	"everstep/starter/process"
)

// A Storage is that of the workers, from which what it keeps of an agent's workflow can be deleted. host.Storage is one.
type Storage interface {
	// Name is for people.
	Name() string
	// DeleteSegments deletes the segments of a transcript, and returns their names.
	DeleteSegments(ctx context.Context, workflowID string) ([]string, error)
	// DeleteArtifacts deletes long results and images of tools, and counts them.
	DeleteArtifacts(ctx context.Context, workflowID string) (int, error)
}

// A RecordStore are Records that can be deleted. record.Store is one.
type RecordStore interface {
	Records
	// Name is for people.
	Name() string
	// Delete deletes all of an agent, and counts them.
	Delete(ctx context.Context, agent domain.AgentID) (int, error)
}

// DeleteOptions say what a deletion may do, and what it can reach.
type DeleteOptions struct {
	// Close closes a session that is idle first. That needs a worker, as Close does.
	Close bool
	// Storage and Records are those of the agent's workers. Nil: they cannot be reached from here.
	Storage Storage
	Records RecordStore
	// Partly deletes what can be reached also where the workers have a storage or records that cannot.
	Partly bool
	// Confirm is asked with what was found, before anything is deleted; an error ends it there. Nil: nobody is asked.
	Confirm func(Belongings) error
}

// A Deletion says what was deleted of an agent, and what remains.
type Deletion struct {
	ID      string         `json:"id"`
	AgentID domain.AgentID `json:"agent_id"`
	Deleted Deleted        `json:"deleted"`
	Remains []Remaining    `json:"remains"`
}

// Deleted counts what was deleted, by its kind. What an earlier deletion that did not come to its end has deleted is not
// among it.
type Deleted struct {
	// Runs are those of workflows, with their histories; Subagents are those below the agent.
	Runs      int `json:"runs"`
	Subagents int `json:"subagents"`
	Segments  int `json:"segments"`
	Artifacts int `json:"artifacts"`
	Records   int `json:"records"`
}

// A Remaining is something that still holds of an agent what was said.
type Remaining struct {
	Kind RemainingKind `json:"kind"`
	// ID is the other agent's, where one has it.
	ID string `json:"id,omitzero"`
	// Text says what and where, in words.
	Text string `json:"text"`
}

// remain adds what remains to a list.
func remain(all *[]Remaining, kind RemainingKind, id, format string, args ...any) {
	*all = append(*all, Remaining{kind, id, fmt.Sprintf(format, args...)})
}

// A RemainingKind says where something remains.
type RemainingKind string

const (
	// RemainsInFork: an agent that was forked from this one has its conversation up to the fork.
	RemainsInFork RemainingKind = "fork"
	// RemainsInParent: the agent whose sub-agent it was has what it was asked and what it answered.
	RemainsInParent RemainingKind = "parent"
	// RemainsInSchedule: a schedule, or a run of one that is under way, has the message with which it begins executions.
	RemainsInSchedule RemainingKind = "schedule"
	// RemainsInStorage: parts of its conversation and results of its tools may be in a storage that was not reached.
	RemainsInStorage RemainingKind = "storage"
	// RemainsInRecords: its executions may be among records that were not reached.
	RemainsInRecords RemainingKind = "records"
	// RemainsOnServer: the server had not deleted all that it was told to.
	RemainsOnServer RemainingKind = "server"
	// RemainsUnknown: not all was looked at where it might be.
	RemainsUnknown RemainingKind = "unknown"
)

// UnmarshalText accepts the known kinds only.
func (k *RemainingKind) UnmarshalText(text []byte) error {
	return enum.Decode(k, text, "kind", RemainsInFork, RemainsInParent, RemainsInSchedule, RemainsInStorage, RemainsInRecords, RemainsOnServer, RemainsUnknown)
}

// Delete deletes everything of an agent, of all sessions that its name has had, and of all sub-agents below it: segments
// and artifacts in the storage, records, the runs of its workflows with their histories, and those of schedules that have
// begun its executions. The id is the whole name or
// UUID. It is refused while an execution is in progress or the session is open, while a fork copies the agent's messages,
// and, unless Partly, where its workers have what cannot be reached. What names the rest goes last: one that was cut
// off is completed by another. It says what remains; it does not look into exported files, backups and archives, nor into
// what providers and tools keep. It needs no worker, but to close a session.
func (c *Client) Delete(ctx context.Context, id string, o DeleteOptions) (d Deletion, _ error) {
	a, err := agentOf(id)
	switch {
	case err != nil:
		return d, err
	case a.session != "":
		return d, invalidf("id: %s is an earlier session; all sessions of a name are deleted at once", id).next("`delete %s` deletes them", a.name)
	}
	b, open, err := c.deletable(ctx, a, o)
	if err == nil && o.Confirm != nil {
		err = o.Confirm(b)
	}
	if err != nil {
		return d, err
	}
	var notClosed error
	if open {
		_, notClosed = c.Close(ctx, a.called())
	}
	if open || o.Confirm != nil { // both may have taken long
		o.Close = false
		if b, _, err = c.deletable(ctx, a, o); err != nil {
			return d, cmp.Or(notClosed, err)
		}
	}
	d = Deletion{ID: a.called(), AgentID: a.id, Remains: b.remains}
	if err := c.deleteScheduled(ctx, a, &d); err != nil {
		return d, a.fail(ctx, "deleting the runs of schedules that began", err)
	}
	for i, one := range slices.Backward(b.all) { // those below come after those above them
		if i > 0 {
			c.cfg.Progress(fmt.Sprintf("deleting sub-agent %s, %d more to go", one.called(), i-1))
		}
		if err := c.deleteOne(ctx, one, o, &d); err != nil {
			return d, fail(ctx, id, "deleting "+one.called(), err)
		}
		if i > 0 {
			d.Deleted.Subagents++
		}
	}
	if d.Deleted != (Deleted{}) {
		return d, nil
	}
	unseen := ""
	if o.Storage == nil {
		unseen += "; no storage was looked at"
	}
	if o.Records == nil {
		unseen += "; no records were looked at"
	}
	return d, notFound("id: there is no agent %q, and nothing is left of one%s", id, unseen)
}

// deletable finds what belongs to an agent, and refuses one that cannot be deleted as it stands. A session can that is open, where
// it may be closed: that is for the caller, once nothing else is in the way.
func (c *Client) deletable(ctx context.Context, a agent, o DeleteOptions) (b Belongings, open bool, err error) {
	if open, err = c.free(ctx, a, o.Close); err != nil {
		return b, open, err
	}
	if b, err = c.belongings(ctx, a, o); err == nil {
		err = b.check(o)
	}
	return b, open, a.fail(ctx, "looking for what belongs to", err)
}

// free refuses an agent that is doing something, or could be asked to, and reports whether it is an open session that is to be closed.
func (c *Client) free(ctx context.Context, a agent, closes bool) (open bool, _ error) {
	// One that has ended, and has but to be recorded, or resolves a call, is waited for.
	began := time.Now()
	again := func() bool { return time.Since(began) < 10*time.Second && process.Pause(ctx, deleteAgain) == nil }
	for {
		s, err := c.snapshot(ctx, a, "")
		switch {
		case deleted(err), err == nil && !s.newest().open():
			return false, nil
		case err != nil:
			return false, a.fail(ctx, "deleting", err)
		case s.resolving != nil && again():
		case s.resolving != nil:
			return false, refused("%s: a call of it is being resolved just now; try again in a moment", a.called())
		case s.ended == nil:
			return false, refused("%s: execution %d is in progress; wait for it, or stop it", a.called(), s.number).next("`stop %s` stops it", a.called())
		case a.name != "" && !closes:
			return false, refused("%s is an open session; close it first", a.called()).next("`delete %s --close` does both", a.called())
		case a.name != "":
			return true, nil
		case !again():
			return false, refused("%s has ended, and is being recorded just now; try again in a moment", a.called())
		}
	}
}

// check refuses what would leave something behind that nothing would name any more.
func (b Belongings) check(o DeleteOptions) error {
	switch {
	case b.copying != "":
		return refused("%s copies the messages of %s just now, from which it was forked; try again when its first step has begun", b.copying, b.ID)
	case o.Partly:
	case b.Storage && o.Storage == nil:
		return refused("storage: the workers of %s have one that is not reached from here; name it with EVERSTEP_STORAGE", b.ID).next("`delete %s --partly` leaves behind what it has", b.ID)
	case b.Records && o.Records == nil:
		return refused("records: the workers of %s have some that are not reached from here; name them with EVERSTEP_RECORDS", b.ID).next("`delete %s --partly` leaves them behind", b.ID)
	}
	return nil
}

// deleteOne deletes what belongs to one agent, its newest run last.
func (c *Client) deleteOne(ctx context.Context, one *belonging, o DeleteOptions, d *Deletion) error {
	if o.Storage != nil {
		names, err := o.Storage.DeleteSegments(ctx, one.workflowID())
		if err != nil {
			return err
		}
		d.Deleted.Segments += len(names)
		artifacts, err := o.Storage.DeleteArtifacts(ctx, one.workflowID())
		if err != nil {
			return err
		}
		d.Deleted.Artifacts += artifacts
		missing := slices.DeleteFunc(slices.Clone(one.segments), func(name string) bool { return slices.Contains(names, name) })
		if len(missing) > 0 {
			remain(&d.Remains, RemainsInStorage, one.called(), "segments of %s that its history names and %s does not have: %d; they were deleted before, or the storage of its workers is another one", one.called(), o.Storage.Name(), len(missing))
		}
	}
	if o.Records != nil {
		n, err := o.Records.Delete(ctx, one.id)
		if err != nil {
			return err
		}
		d.Deleted.Records += n
	}
	for _, run := range one.runs {
		if err := c.deleteRun(ctx, one.workflowID(), one.called(), run, d); err != nil {
			return err
		}
	}
	for until := time.Now().Add(10 * time.Second); ; { // the server's list may outlast what it has
		left, err := c.listedRuns(ctx, workflowIs(one.workflowID()))
		if err != nil || len(left) == 0 {
			return err
		}
		if time.Now().After(until) {
			remain(&d.Remains, RemainsOnServer, one.called(), "the server's list still has %s, of which it has deleted the histories", one.called())
			return nil
		}
		if err := process.Pause(ctx, deleteAgain); err != nil {
			return err
		}
	}
}

// deletePatience bounds the wait for the server, which deletes a run some time after it was told to: one that has just
// ended after half a minute.
const deletePatience = 2 * time.Minute

// deleteRun has the server delete a run, where there is one, waits until it has, and counts it.
func (c *Client) deleteRun(ctx context.Context, workflowID, called, run string, d *Deletion) error {
	call, cancel := context.WithTimeout(ctx, deletePatience)
	defer cancel()
	_, err := history.RetryWhileAway(call, func() (*workflowservice.DeleteWorkflowExecutionResponse, error) {
		return c.temporal.WorkflowService().DeleteWorkflowExecution(call, &workflowservice.DeleteWorkflowExecutionRequest{
			Namespace: c.cfg.Namespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: workflowID, RunId: run},
		})
	})
	if deleted(err) {
		return nil
	}
	defer time.AfterFunc(2*time.Second, func() {
		c.cfg.Progress("waiting for the server to delete run " + run + " of " + called + ": of one that has just ended it takes half a minute")
	}).Stop()
	for err == nil {
		if _, err = c.temporal.DescribeWorkflowExecution(call, workflowID, run); deleted(err) {
			d.Deleted.Runs++
			return nil
		}
		if err == nil {
			err = process.Pause(call, deleteAgain)
		}
	}
	if call.Err() != nil && ctx.Err() == nil {
		return errorf(Failed, err, "the server was told to delete run %s of %s, and still has it after %s; delete it again later", run, called, deletePatience)
	}
	return err
}

const deleteAgain = 20 * time.Millisecond

func workflowIs(id string) string {
	return fmt.Sprintf("WorkflowType = '%s' AND WorkflowId = '%s'", contract.Execute, id)
}

// deleteScheduled deletes the runs of schedules that have begun executions of an agent: each has the message with which
// it began one. It says which schedules have that too.
func (c *Client) deleteScheduled(ctx context.Context, a agent, d *Deletion) error {
	runs, err := c.listedRuns(ctx, fmt.Sprintf("WorkflowType = '%s'", contract.Scheduled))
	if err != nil {
		return err
	}
	by := map[string]bool{}
	for _, info := range runs {
		told, ok := c.memo(info).Scheduled()
		if !ok || told.AgentID != a.id {
			continue
		}
		by[told.Schedule] = true
		if info.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
			remain(&d.Remains, RemainsInSchedule, told.Schedule, "a run of schedule %s is under way, and has the message with which it begins: workflow %s", told.Schedule, info.GetExecution().GetWorkflowId())
			continue
		}
		if err := c.deleteRun(ctx, info.GetExecution().GetWorkflowId(), a.called(), info.GetExecution().GetRunId(), d); err != nil {
			return err
		}
	}
	for s, err := range c.Schedules(ctx) {
		if err != nil {
			return err
		}
		if by[s.Name] || a.name != "" && s.Session == a.name {
			remain(&d.Remains, RemainsInSchedule, s.Name, "schedule %s has the message with which its runs begin; delete it too", s.Name)
		}
	}
	return nil
}
