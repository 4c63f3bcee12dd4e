package main

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"everstep/domain/enum"
	"everstep/starter/client"
	"everstep/starter/local"
	"everstep/starter/render"
	"everstep/worker/host"
)

// A listing is what the flags of list say.
type listing struct {
	client.ListOptions
	// records has those listed too of which only the records tell.
	records bool
	columns []string
	sort    string
	reverse bool
}

func listCommand(p *program) *cobra.Command {
	var l listing
	command := newCommand("list", "List the agents", `Lists the agents that the server knows, the open ones first, then the newest.
It needs no worker. What happened a moment ago may be missing. What others
started on the server as if it were an agent is named by its workflow id, and
foreign: workers refuse it.

Of a name that was used again the newest session is listed; with --all the earlier
ones are too, as NAME@RUN, which status, result, steps, messages, history, explain
and watch take as they take a name.

With --records those follow of which only the records tell, as "recorded" or
"imported": what reads an agent reads them, and fork goes on from them.

Sub-agents are listed beside the agents that started them, which PARENT names by
the beginning of their ids. --roots leaves all of them out, and --parent ID lists
those of one agent alone; explain ID --tree shows all below it.

--columns id,build shows which build has begun each; status says where that is not
the one that would go on.

Filters leave out what does not fit all of them. A status is one of
`+enum.Names(enum.Known[client.ListStatus](), ", ")+`.
--unknown lists the agents that have calls of unknown outcome: resolve says
what each did.`, `  starter list
  starter list --status failed,stopped --since 2h
  starter list --reason cost_limit --columns id,cost,tokens --sort -cost
  starter list --agent 'shop-*' --query "StartTime > '2030-01-31T12:00:00Z'"
  starter list --unknown
  starter list --schedule digest
  starter list --all
  EVERSTEP_RECORDS=~/everstep-records starter list --records
  starter list --roots
  starter list --parent notes
  EVERSTEP_INDEX_TRUSTED=customer starter list --with customer=4711
  starter list --open --json | jq -r '.[].id'`, func(ctx context.Context, _ []string) error {
		if l.records && !p.machine.HasRecords() {
			return local.ErrNoRecords
		}
		var parent []string
		if l.Parent != "" {
			parent = []string{l.Parent}
		}
		return p.onAgent(ctx, parent, local.Need{Back: !l.records, Reads: l.records}, func(ctx context.Context, s *local.Stack, id string) error {
			l.Parent = id
			listed, err := l.list(ctx, s.Agents)
			if err != nil && len(listed) == 0 {
				return err
			}
			none := "there is no agent; `" + p.again("run") + " \"…\"` starts one"
			filters := l.ListOptions
			filters.All, filters.Limit = false, 0
			if !reflect.ValueOf(filters).IsZero() {
				none = "no agent is as asked for; `" + p.again("list") + "` lists all"
			}
			if len(listed) == 0 && l.Schedule != "" {
				if _, err := s.Agents.Schedule(ctx, l.Schedule); client.Is(err, client.NotFound) {
					none = "there is no schedule " + l.Schedule + ", and no agent that one of that name has begun; `" + p.again("schedule", "list") + "` lists the schedules"
				}
			}
			if len(listed) == 0 && l.Parent != "" {
				if _, err := s.Agents.Status(ctx, l.Parent); client.Is(err, client.NotFound) {
					none = "there is no agent " + l.Parent + ", and no sub-agent that one of that id has started; `" + p.again("list") + "` lists all"
				}
			}
			return cmp.Or(p.table(listed, render.List(listed, p.now(), l.columns...), none), err)
		})
	})
	l.register(p, command)
	return command
}

func (l *listing) register(p *program, command *cobra.Command) {
	set := command.Flags()
	set.BoolVar(&l.Open, "open", false, "leave out agents that have ended")
	set.Var(choicesFlag("STATUS,...", &l.Statuses, enum.Known[client.ListStatus]()), "status", "list only those in one of these statuses")
	set.Var(flagValue{"REASON,...", "", func(text string) error { return readNames(&l.Reasons, text) }}, "reason", "list only those whose newest execution ended for one of these: stop reasons, or codes of errors")
	set.Var(textFlag(&l.Agent), "agent", "list only those of this `NAME`, in which * stands for any characters")
	set.Var(textFlag(&l.Schedule), "schedule", "list only those that the schedule of this `NAME` has begun")
	set.Var(flagValue{"time", "", func(text string) error {
		since, err := time.Parse(time.RFC3339, text)
		if d, wrong := time.ParseDuration(text); err != nil && wrong == nil && d >= 0 {
			since, err = p.now().Add(-d), nil
		}
		if l.Since = since; err != nil {
			return errors.New("is neither a time nor a duration; give a time such as 2030-01-31T12:00:00Z, or a duration until now such as 2h")
		}
		return nil
	}}, "since", "leave out what began before: a time such as 2030-01-31T12:00:00Z, or a duration until now such as 2h")
	set.Var(textFlag(&l.Parent), "parent", "list only the sub-agents that the agent `ID` has started itself")
	set.BoolVar(&l.Roots, "roots", false, "leave out sub-agents")
	set.BoolVar(&l.Waiting, "waiting", false, "list only those of which a tool call waits for a person's word or answer")
	set.BoolVar(&l.Unknown, "unknown", false, "list those with calls of which nobody knows whether they took effect")
	set.Var(flagValue{"NAME=VALUE", "", func(text string) error { return readTrusted(&l.Trusted, text) }}, "with", "leave out agents that were not given this trusted value; NAME:=JSON for what is no text; needs "+local.VariableIndexTrusted)
	set.Var(textFlag(&l.Query), "query", "list only those that a `FILTER` of Temporal's own finds")
	set.BoolVar(&l.records, "records", false, "list those too of which only the records tell ("+host.RecordsVariable+"): imported, or deleted from the server; needs no server")
	set.BoolVar(&l.All, "all", false, "list the earlier sessions of each name too")
	columns := render.ListColumns()
	set.Var(choicesFlag("COLUMN,...", &l.columns, columns), "columns", "what to show: "+strings.Join(columns, ", "))
	byColumn := choiceFlag(&l.sort, columns)
	set.Var(flagValue{"COLUMN", "", func(text string) error {
		name, reverse := strings.CutPrefix(text, "-")
		l.reverse = reverse
		return byColumn.set(name)
	}}, "sort", "sort by a column; with - before it, the largest or oldest first")
	set.Var(numberFlag(&l.Limit, 1, 1<<30), "limit", "at most so many; all unless given")
	command.MarkFlagsMutuallyExclusive("parent", "roots")
	completeWith(command, "parent", p.completeIDs)
	completeWith(command, "status", completeWords(enum.Known[client.ListStatus]()))
	completeWith(command, "schedule", p.completeSchedules)
	completeWith(command, "columns", completeWords(columns))
	completeWith(command, "sort", completeWords(columns))
}

func completeWords[T ~string](words []T) cobra.CompletionFunc {
	var all []cobra.Completion
	for _, word := range words {
		all = append(all, string(word))
	}
	return cobra.FixedCompletions(all, cobra.ShellCompDirectiveNoFileComp)
}

// list reads what is asked for. What is sorted is read whole, and cut then. Where records cannot be read, it returns the others
// with the error.
func (l *listing) list(ctx context.Context, agents *client.Client) (listed []client.Listed, unread error) {
	options := l.ListOptions
	listed = []client.Listed{}
	if l.sort != "" {
		options.Limit = 0
	}
	for agent, err := range agents.List(ctx, options) {
		if l.records && errors.Is(err, client.ErrUnreached) {
			break
		}
		if err != nil {
			return nil, err
		}
		listed = append(listed, agent)
	}
	if l.records {
		for agent, err := range agents.ListRecorded(ctx, options) {
			if err != nil {
				unread = err
				break
			}
			listed = append(listed, agent)
		}
	}
	render.SortList(listed, l.sort, l.reverse)
	if l.Limit > 0 && len(listed) > l.Limit {
		listed = listed[:l.Limit]
	}
	return listed, unread
}

// readNames adds names with commas between them.
func readNames(names *[]string, text string) error {
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name == "" {
			return errors.New("has an empty name; give names with commas between them")
		}
		*names = append(*names, name)
	}
	return nil
}
