package client

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
	"everstep/starter/client/internal/history"
	"everstep/worker/host/codec"
)

// A Config says where agents run and how soon lost work is noticed. The zero
// value is usable: namespace default, the default task queue, and time-outs for
// a server that is not on this machine.
type Config struct {
	// Namespace is that of the Temporal client. Empty: default.
	Namespace string
	// TaskQueue is of new agents. Empty: contract.DefaultTaskQueue.
	TaskQueue string
	// Server names the Temporal server in words for people. Empty: it is not named.
	Server string
	// Loopback, a server on this machine, has time-outs close together.
	Loopback bool
	// Converter reads the payloads of histories as the Temporal client and the workers write them. Nil: as
	// host.Dial makes them do; whoever uses that need not set it.
	Converter converter.DataConverter
	// By says who begins executions, as events and the log of workers tell it. Empty:
	// this program and process.
	By domain.Program
	// IndexTrusted names the trusted values that List may find agents by. Those that a new agent is given stand in the
	// search attribute AgentTrusted, of type KeywordList, then, where whoever may list workflows reads them. Nil: none.
	IndexTrusted []string
	// Records tell of executions that the server has no more, and of the steps that one in progress had in runs that are gone. Nil:
	// nobody does.
	Records Records
	// Progress is told, in words, why something takes long. It may be called
	// from any goroutine. Nil: nobody is told.
	Progress func(string)
	// Serve says, in words, what has a worker serve a task queue. Nil: to start one.
	Serve func(queue string) string
}

// A Client speaks to agents. It is safe for concurrent use and holds no
// connection of its own: closing the Temporal client is the caller's.
type Client struct {
	temporal sdk.Client
	cfg      Config
	known    *knownAttributes
	// impatient has it ask a single time where a run stands, so that it notices at once that the server is away.
	impatient bool
	// unreached is why there is no server to be asked; nil: there is one.
	unreached *Error
}

// New returns a client that uses a connected Temporal client, that of host.Dial.
func New(temporal sdk.Client, cfg Config) *Client {
	cfg.Namespace = cmp.Or(cfg.Namespace, "default")
	cfg.TaskQueue = cmp.Or(cfg.TaskQueue, contract.DefaultTaskQueue)
	if cfg.Converter == nil {
		cfg.Converter = codec.New().DataConverter()
	}
	if cfg.By == (domain.Program{}) {
		machine, _ := os.Hostname() // without one the process has to do
		cfg.By = domain.Program{Client: filepath.Base(os.Args[0]), Identity: fmt.Sprintf("%d@%s", os.Getpid(), machine)}
	}
	if cfg.Progress == nil {
		cfg.Progress = func(string) {}
	}
	if cfg.Serve == nil {
		cfg.Serve = func(string) string { return "start one there" }
	}
	return &Client{temporal: temporal, cfg: cfg, known: &knownAttributes{}}
}

// place is where work waits, in words.
func (cfg Config) place(queue string) string {
	place := fmt.Sprintf("task queue %s, namespace %s", queue, cfg.Namespace)
	if cfg.Server != "" {
		place += ", server " + cfg.Server
	}
	return place
}

// timing is handed to new agents; task is how long a worker may take over a workflow
// task before another may.
func (cfg Config) timing() (timing contract.Timing, task time.Duration) {
	if task = 10 * time.Second; cfg.Loopback {
		task = 2 * time.Second
	}
	return contract.TimingOf(cfg.Loopback), task
}

// An agent is what users call one, and its identity.
type agent struct {
	id   domain.AgentID
	name string // empty for an agent without one
	// session is a run of the session that is meant, where that need not be the newest of the name.
	session string
}

// SessionMark stands between a name and a run of the session that is meant.
const SessionMark = "@"

// CheckID says what is wrong with what is to name an agent, or an earlier session of a name.
func CheckID(id string) error {
	_, err := agentOf(id)
	return err
}

func agentOf(id string) (none agent, _ error) {
	called, session, chosen := strings.Cut(id, SessionMark)
	identity, err := domain.AgentIDOf(called)
	if err != nil {
		return none, invalid(err)
	}
	a := agent{id: identity, session: session}
	if domain.CheckAgentName(called) == nil {
		a.name = called
	}
	if chosen && (a.name == "" || uuid.Validate(session) != nil || len(session) != 36) {
		return none, invalidf("id: %q names no earlier session; that is a name, %q and the id of its run", id, SessionMark)
	}
	return a, nil
}

// agentOfWorkflow is the agent whose workflow has an id; false, and none: it is no agent's.
func agentOfWorkflow(workflowID string) (agent, bool) {
	a, err := agentOf(strings.TrimPrefix(workflowID, domain.WorkflowIDPrefix))
	if err != nil || a.workflowID() != workflowID {
		return agent{}, false
	}
	return a, true
}

// called is the name, or the UUID where there is none; with the session where that was chosen.
func (a agent) called() string {
	if a.session != "" {
		return a.name + SessionMark + a.session
	}
	return cmp.Or(a.name, a.id.String())
}

func (a agent) workflowID() string { return domain.WorkflowID(cmp.Or(a.name, a.id.String())) }

// begun names an execution that began in a run.
func (a agent) begun(number int, id domain.ExecutionID, runID string) Execution {
	return Execution{
		AgentID: a.id, ID: a.called(), Name: a.name, ExecutionID: id, Number: number, WorkflowID: a.workflowID(), RunID: runID,
	}
}

// A snapshot is what the server says of an agent's newest run.
type snapshot struct {
	agent
	*workflowservice.DescribeWorkflowExecutionResponse
	// outcome is that of the execution that ended last; nil: none has.
	outcome *contract.Outcome
	// head is where the agent stands.
	head contract.HeadMemo
	// number is that of the newest execution, and ended says how that ended; nil: it is in progress. byServer means that the
	// server ended it, and not the workflow.
	number   int
	ended    *contract.Outcome
	byServer bool
	// builds have run it.
	builds contract.Builds
	// resolving is the newest run, where it only resolves a call after the end of this one.
	resolving *workflowservice.DescribeWorkflowExecutionResponse
}

// describe asks the server, and no worker, about an agent.
func (c *Client) describe(ctx context.Context, id string) (none snapshot, _ error) {
	a, err := agentOf(id)
	if err != nil {
		return none, err
	}
	s, err := c.snapshot(ctx, a, "")
	if deleted(err) {
		if only := c.onlyRecorded(ctx, id); only != nil {
			return none, only
		}
	}
	return s, fail(ctx, id, "asking about "+id, err)
}

// snapshot is what the server says of one run; the empty id is the newest, or that of the session that was chosen. Of one
// that only resolves a call it is what is said of the run that ended before, as long as that is there.
func (c *Client) snapshot(ctx context.Context, a agent, runID string) (snapshot, error) {
	s, err := c.described(ctx, a, runID)
	if err != nil {
		return snapshot{}, err
	}
	ended, ok := c.memo(s.info()).EndedRun()
	if !ok {
		return s, nil
	}
	before, err := c.described(ctx, a, ended.RunID)
	if deleted(err) {
		return s, nil
	}
	before.resolving = s.DescribeWorkflowExecutionResponse
	return before, err
}

func (c *Client) described(ctx context.Context, a agent, runID string) (snapshot, error) {
	call, cancel := context.WithTimeout(ctx, history.CallTimeout)
	defer cancel()
	runID = cmp.Or(runID, a.session)
	var response *workflowservice.DescribeWorkflowExecutionResponse
	var err error
	if c.impatient { // the SDK's client asks again where the server is away
		response, err = c.temporal.WorkflowService().DescribeWorkflowExecution(call, &workflowservice.DescribeWorkflowExecutionRequest{
			Namespace: c.cfg.Namespace, Execution: &commonpb.WorkflowExecution{WorkflowId: a.workflowID(), RunId: runID},
		})
	} else {
		response, err = c.temporal.DescribeWorkflowExecution(call, a.workflowID(), runID)
	}
	if err != nil {
		return snapshot{}, err
	}
	return c.snapshotOf(a, response), nil
}

// snapshotOf reads what the server says of a run.
func (c *Client) snapshotOf(a agent, response *workflowservice.DescribeWorkflowExecutionResponse) snapshot {
	info := response.GetWorkflowExecutionInfo()
	memo := c.memo(info)
	s := snapshot{agent: a, DescribeWorkflowExecutionResponse: response, head: memo.Head(), builds: memo.Builds(), outcome: memo.Outcome()}
	if s.number = s.head.Number; s.tellsEnd(s.number) {
		s.number, s.ended = s.outcome.Number, s.outcome
	} else if cut, ok := s.serverEnd(); ok { // while it was in progress
		cut.AgentID, cut.ExecutionID, cut.Number = s.id, s.executionID(s.number), s.number
		s.ended, s.byServer = &cut, true
	}
	return s
}

// memo is that of a workflow.
func (c *Client) memo(info *workflowpb.WorkflowExecutionInfo) history.Memo {
	return history.Memo{Converter: c.cfg.Converter, Memo: info.GetMemo()}
}

func (s snapshot) info() *workflowpb.WorkflowExecutionInfo { return s.GetWorkflowExecutionInfo() }

func (s snapshot) runID() string { return s.info().GetExecution().GetRunId() }

// newest is the newest run itself, also where it only resolves a call.
func (s snapshot) newest() snapshot {
	if s.resolving != nil {
		s.DescribeWorkflowExecutionResponse, s.resolving = s.resolving, nil
	}
	return s
}

// teller is the run that can tell what an ended agent has left: one that was to resolve a call and was cut off cannot.
func (s snapshot) teller() string {
	if _, cut := s.newest().serverEnd(); s.resolving != nil && !cut {
		return s.newest().runID()
	}
	return s.runID()
}

func (s snapshot) queue() string { return s.GetExecutionConfig().GetTaskQueue().GetName() }

// open reports whether an execution is in progress, or the session is idle.
func (s snapshot) open() bool {
	return s.info().GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
}

// firstRunID is kept by continuing as new and by resetting.
func (s snapshot) firstRunID() string { return cmp.Or(s.info().GetFirstRunId(), s.runID()) }

func (s snapshot) executionID(n int) domain.ExecutionID {
	return s.id.Execution(s.firstRunID(), n)
}

func (s snapshot) execution(n int) Execution {
	return s.begun(n, s.executionID(n), s.runID())
}

func (c *Client) pending(s snapshot) []account.Pending {
	return history.Pendings(c.cfg.Converter, s.DescribeWorkflowExecutionResponse)
}

// failureOf says why an execution failed of which only the outcome is known.
func failureOf(o contract.Outcome) *domain.Error {
	switch o.Code {
	case domain.CodeTerminated:
		return domain.CodedErrorf(domain.Denied, o.Code, "an operator terminated the workflow").From("server")
	case domain.CodeTimedOut:
		return domain.CodedErrorf(domain.Denied, o.Code, "the workflow reached its time-out").From("server")
	case "":
		return domain.Errorf(cmp.Or(o.Kind, domain.Internal), "the execution failed; explain says more")
	default:
		return domain.CodedErrorf(cmp.Or(o.Kind, domain.Internal), o.Code, "the execution failed: %s; explain says more", o.Code)
	}
}

// An Execution names one execution of one agent.
type Execution struct {
	AgentID domain.AgentID `json:"agent_id"`
	// ID is what users call the agent: its name, or its UUID where it has none. An earlier session of a name is
	// NAME@RUN, which whatever reads takes, and nothing else.
	ID          string             `json:"id"`
	Name        string             `json:"name,omitzero"`
	ExecutionID domain.ExecutionID `json:"execution_id,omitzero"`
	// Number counts the agent's executions from 1.
	Number     int    `json:"execution_number"`
	WorkflowID string `json:"workflow_id"`
	// RunID is Temporal's id of the run in which it was at the time.
	RunID string `json:"run_id"`
	// Waits is set by Send alone: the message did not begin this execution, which was in progress, but waits for it.
	Waits domain.MessageID `json:"waits,omitzero"`
}

// A Result says how an execution ended and what it answered.
type Result struct {
	Execution
	Outcome contract.Outcome `json:"outcome"`
	// End has the answer, and why there is none or a part. What of it only a worker tells is absent where none answers.
	contract.End
	// Output is the answer as a JSON value, where the agent's response format
	// asks for one and the execution completed. It has been checked then.
	Output json.RawMessage `json:"output,omitempty"`
	// Source says who told the answer. Where that is contract.FromRawHistory it was read from Event, which Build has written, as
	// no worker answers and this build cannot replay the history: it may not be the final one. What that build alone knows of
	// the outcome is empty then.
	Source contract.StatusSource `json:"source"`
	Event  int64                 `json:"event_id,omitzero"`
	Build  string                `json:"build,omitzero"`
	// ImportedAt is when its record came out of a file; zero: it did not.
	ImportedAt time.Time `json:"imported_at,omitzero"`
}
