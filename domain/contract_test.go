package domain_test

import (
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// pinned is every constant of contract.go, by type and value. A line here may be
// added and never changed: the values are in histories.
var pinned = map[string]string{
	"Execute":              "Workflow[SessionInput, Outcome] = agent.Execute",
	"Scheduled":            "Workflow[ScheduledInput, ScheduledRun] = agent.Scheduled",
	"Send":                 "Activity[SessionMessage, SessionReply] = agent.Send",
	"Follow":               "Activity[FollowRequest, FollowReply] = agent.Follow",
	"MemoSchedule":         " = schedule",
	"ScheduledIDPrefix":    " = schedule/",
	"MemoScheduled":        " = scheduled_run",
	"CallModel":            "Activity[ModelRequest, ModelReply] = agent.CallModel",
	"CallTool":             "Activity[ToolRequest, ToolReply] = agent.CallTool",
	"Bind":                 "Activity[BindRequest, Bound] = agent.Bind",
	"Unbind":               "Activity[UnbindRequest, UnbindReply] = agent.Unbind",
	"VerifyCall":           "Activity[ToolRequest, VerifyReply] = agent.VerifyCall",
	"ListTools":            "Activity[CatalogRequest, Catalog] = agent.ListTools",
	"Record":               "Activity[RecordRequest, Segment] = agent.Record",
	"CallHook":             "Activity[HookRequest, HookReply] = agent.CallHook",
	"CheckOutput":          "Activity[OutputRequest, OutputReply] = agent.CheckOutput",
	"QueryEvents":          "Query[EventsRequest, EventsPage] = events",
	"UpdateExtend":         "Update[ExtendRequest, ExtendReply] = extend",
	"UpdateExtendSession":  "Update[ExtendSessionRequest, ExtendSessionReply] = extend_session",
	"UpdatePause":          "Update[PauseRequest, PauseReply] = pause",
	"UpdateResume":         "Update[PauseRequest, PauseReply] = resume",
	"QueryStatus":          "Query[StatusRequest, StatusView] = status",
	"QueryState":           "Query[StateRequest, StateView] = state",
	"QuerySteps":           "Query[StepsRequest, StepsPage] = steps",
	"QueryMessages":        "Query[MessagesRequest, MessagesPage] = messages",
	"SignalStop":           "Signal[StopRequest] = stop",
	"SignalChildWaits":     "Signal[ChildWaits] = subagent.waits",
	"SignalBudgetRequest":  "Signal[BudgetRequest] = budget.request",
	"SignalBudgetGrant":    "Signal[BudgetGrant] = budget.grant",
	"UpdateSend":           "Update[SendRequest, SendReply] = send",
	"UpdateUnsend":         "Update[UnsendRequest, UnsendReply] = unsend",
	"UpdateSuspend":        "Update[SuspendRequest, SuspendReply] = suspend",
	"UpdateUnsuspend":      "Update[UnsuspendRequest, SuspendReply] = unsuspend",
	"UpdateClear":          "Update[ClearRequest, ClearReply] = clear",
	"UpdateRewind":         "Update[RewindRequest, RewindReply] = rewind",
	"UpdateClose":          "Update[CloseRequest, CloseReply] = close",
	"UpdateApprove":        "Update[ApproveRequest, DecisionReply] = approve",
	"UpdateAnswer":         "Update[AnswerRequest, AnswerReply] = answer",
	"UpdateEdit":           "Update[EditRequest, DecisionReply] = edit",
	"UpdateDeny":           "Update[DenyRequest, DecisionReply] = deny",
	"UpdateRedefine":       "Update[RedefineRequest, RedefineReply] = update",
	"UpdateRevoke":         "Update[RevokeRequest, RevokeReply] = revoke",
	"MemoWaiting":          " = waiting",
	"UpdateResolve":        "Update[ResolveRequest, ResolveReply] = resolve",
	"MemoOutcome":          " = outcome",
	"MemoBuild":            " = build",
	"MemoUnknown":          " = outcome_unknown",
	"MemoSettles":          " = settles",
	"MemoSessionBudget":    " = session_budget",
	"WorkflowIDPrefix":     " = agent/",
	"MaxAgentName":         " = 200",
	"AttributeAgentName":   " = AgentName",
	"AttributeAgentStatus": " = AgentStatus",
	"AttributeStopReason":  " = StopReason",
	"AttributeTrusted":     " = AgentTrusted",
	"DefaultTaskQueue":     " = everstep",
	"agentNamespace":       " = 8f6f3c0e-58a5-4c4b-9c0e-7a5f5d1f0a11",
}

func TestContractIsPinned(t *testing.T) {
	t.Parallel()
	found := map[string]string{}
	for _, c := range contractConstants(t) {
		found[c.name] = c.typ + " = " + c.value
	}
	require.Equal(t, pinned, found)
}

func TestContractNamesAreUnique(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, c := range contractConstants(t) {
		kind, _, _ := strings.Cut(c.typ, "[")
		key := kind + " " + c.value
		require.Empty(t, seen[key], "%s and %s have one name", seen[key], c.name)
		seen[key] = c.name
	}
}

// contractConstants are the names of the contract, and what ids derive from.
func contractConstants(t *testing.T) []constant {
	t.Helper()
	return append(constantsOf(t, parsed(t, "contract/contract.go")), constantsOf(t, parsed(t, "id.go"))...)
}

// sources are the files of domain and of its rooms, tests aside.
func sources(t *testing.T) []string {
	t.Helper()
	var files []string
	for _, pattern := range []string{"*.go", "*/*.go"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		files = append(files, slices.DeleteFunc(found, func(file string) bool { return strings.HasSuffix(file, "_test.go") })...)
	}
	require.NotEmpty(t, files)
	return files
}

type constant struct{ name, typ, value string }

func parsed(t *testing.T, file string) *ast.File {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	return tree
}

// constantsOf lists the constants of a file. Each has a literal text of its own.
func constantsOf(t *testing.T, file *ast.File) []constant {
	t.Helper()
	var found []constant
	for _, decl := range file.Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		for _, spec := range group.Specs {
			c := spec.(*ast.ValueSpec)
			for i, name := range c.Names {
				require.Greater(t, len(c.Values), i, "%s has no value of its own", name.Name)
				literal, ok := c.Values[i].(*ast.BasicLit)
				require.True(t, ok, "%s is not a literal", name.Name)
				value := literal.Value
				if literal.Kind == token.STRING {
					var err error
					value, err = strconv.Unquote(literal.Value)
					require.NoError(t, err)
				}
				found = append(found, constant{name.Name, printed(t, c.Type), value})
			}
		}
	}
	require.NotEmpty(t, found)
	return found
}

func printed(t *testing.T, expression ast.Expr) string {
	t.Helper()
	if expression == nil {
		return ""
	}
	var text strings.Builder
	require.NoError(t, printer.Fprint(&text, token.NewFileSet(), expression))
	return text.String()
}
