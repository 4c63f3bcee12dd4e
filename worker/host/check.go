package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/workflow"
	"golang.org/x/term"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
	"everstep/worker/host/codec"
	"everstep/workflows/replay"
)

// checkCommand is what is done before a worker of another build, or with another configuration, is deployed.
func checkCommand(config Config) *cobra.Command {
	command := &cobra.Command{
		Use:   "check",
		Short: "Check the configuration and what is open, before a deployment",
		Long: `Checks what a worker checks at its start, and that the server answers, and ends.

With --open it also replays all open executions of the task queue with this
build, as workers of it would to go on with them, and names those that would
break, with the event from which on they do not fit. It only reads: no agent
notices. The exit code is 1 where one would break, else 0.`,
		Example: `  worker check --open --task-queue research`,
		Args:    noArguments,
	}
	connection, own := ConnectionFlags(command.Flags()), WorkerFlags(command.Flags())
	command.Flags().SortFlags = false
	open := command.Flags().Bool("open", false, "replay what is open")
	asJSON := command.Flags().Bool("json", false, "write JSON")
	command.RunE = func(command *cobra.Command, _ []string) error {
		config, err := FromEnvironment(config, envconfig.EnvLookupOS, connection, own)
		if err != nil {
			return err
		}
		config.Connection.Seat = "" // it serves nobody
		w, c, err := prepared(command.Context(), config)
		if err != nil {
			return err
		}
		defer c.Close()
		defer func() { _ = w.close() }() // it was only read
		if !*open {
			return nil
		}
		progress := func(int) {}
		if term.IsTerminal(int(os.Stderr.Fd())) {
			progress = func(replayed int) { _, _ = fmt.Fprintf(os.Stderr, "\rreplayed %d\r", replayed) }
		}
		found, err := w.fits(command.Context(), c, progress)
		if err != nil {
			return w.notServing(err)
		}
		if err := found.write(command.OutOrStdout(), *asJSON); err != nil {
			return err
		}
		if len(found.Breaks) > 0 {
			return fmt.Errorf("%d of %d open executions would break; finish them with workers of the build that began them, or export and fork", len(found.Breaks), found.Open)
		}
		return nil
	}
	return command
}

// An openCheck says which open executions a build can go on with.
type openCheck struct {
	Open   int      `json:"open"`
	Breaks []misfit `json:"breaks"`
}

// A misfit is an execution that would break.
type misfit struct {
	ID         string `json:"id"`
	WorkflowID string `json:"workflow_id"`
	RunID      string `json:"run_id"`
	// EventID is from where on the history does not fit; 0: nobody knows.
	EventID int64 `json:"event_id,omitzero"`
	// Build has begun it.
	Build  string `json:"build,omitzero"`
	Reason string `json:"reason"`
}

func (f openCheck) write(out io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(out).Encode(f)
	}
	rows := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if len(f.Breaks) > 0 {
		_, _ = fmt.Fprintln(rows, "AGENT\tWORKFLOW\tRUN\tEVENT\tBUILD\tREASON") // Flush has the error
	}
	for _, m := range f.Breaks {
		event := "-"
		if m.EventID > 0 {
			event = strconv.FormatInt(m.EventID, 10)
		}
		_, _ = fmt.Fprintf(rows, "%s\t%s\t%s\t%s\t%s\t%s\n", m.ID, m.WorkflowID, m.RunID, event, m.Build, m.Reason)
	}
	_, _ = fmt.Fprintf(rows, "open: %d, would break: %d\n", f.Open, len(f.Breaks))
	return rows.Flush()
}

// fits replays all open executions of the worker's task queue.
func (w *Worker) fits(ctx context.Context, c client.Client, replayed func(int)) (openCheck, error) {
	all := openCheck{Breaks: []misfit{}}
	request := &workflowservice.ListWorkflowExecutionsRequest{
		Namespace: w.config.Connection.Namespace,
		Query: fmt.Sprintf("TaskQueue = '%s' AND ExecutionStatus = 'Running' AND WorkflowType IN ('%s', '%s')",
			w.config.TaskQueue, contract.Execute, contract.Scheduled),
	}
	for {
		page, err := c.ListWorkflow(ctx, request)
		if err != nil {
			return all, err
		}
		for _, info := range page.GetExecutions() {
			misfit, err := w.replay(ctx, c, info)
			if err != nil {
				return all, err
			}
			if misfit != nil {
				all.Breaks = append(all.Breaks, *misfit)
			}
			all.Open++
			replayed(all.Open)
		}
		if request.NextPageToken = page.GetNextPageToken(); len(request.NextPageToken) == 0 {
			return all, nil
		}
	}
}

// replay says why a worker of this build could not go on with an execution; nil: it could.
func (w *Worker) replay(ctx context.Context, c client.Client, info *workflowpb.WorkflowExecutionInfo) (*misfit, error) {
	id, run := info.GetExecution().GetWorkflowId(), info.GetExecution().GetRunId()
	var events []*historypb.HistoryEvent
	for pages := c.GetWorkflowHistory(ctx, id, run, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); pages.HasNext(); {
		event, err := pages.Next()
		if _, deleted := errors.AsType[*serviceerror.NotFound](err); deleted {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		events = append(events, event)
	}
	converts := codec.New().DataConverter()
	var lacks error // a replay calls no hook: their replies are recorded
	_, err := replay.Ask(ctx, events, workflow.Execution{ID: id, RunID: run}, replay.Options{DataConverter: converts}, func(q *replay.Queries) error {
		if info.GetType().GetName() == string(contract.Execute) {
			lacks = w.lacksHook(q)
		}
		return nil
	})
	wrong, ok := errors.AsType[*replay.Error](err)
	switch {
	case errors.Is(err, replay.ErrNotBegun): // this build would begin it
		return nil, nil
	case err == nil && lacks != nil:
		wrong = &replay.Error{Detail: lacks.Error()}
	case !ok:
		return nil, err
	}
	var builds contract.Builds
	if memo := info.GetMemo().GetFields()[contract.MemoBuild]; memo != nil {
		_ = converts.FromPayload(memo, &builds) // nobody knows, then
	}
	reason := wrong.Detail
	if reason == "" {
		reason = wrong.Kind.Error()
	}
	return &misfit{
		ID: strings.TrimPrefix(id, domain.WorkflowIDPrefix), WorkflowID: id, RunID: run, EventID: wrong.EventID, Build: builds.Begun, Reason: reason,
	}, nil
}

// lacksHook says which hook a replayed agent uses that this worker has not.
func (w *Worker) lacksHook(q *replay.Queries) error {
	page, err := replay.Query(q, account.Query, account.RequestOf(0, account.HeadOf, account.Definition))
	if err != nil {
		return err
	}
	resolved := page.Head.Configuration.Resolved
	if resolved == nil {
		return nil
	}
	for _, spec := range resolved.Hooks {
		if _, err := w.hooks.Find(spec); err != nil {
			return err
		}
	}
	return nil
}
