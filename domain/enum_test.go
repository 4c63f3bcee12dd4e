package domain_test

import (
	"encoding"
	"go/ast"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
)

// enums pins the values of each enum: they are recorded, so one may be added and
// none changed.
var enums = map[string]struct {
	listed []string
	values string
	decode func(string) (string, error)
	// empty is what the empty text reads as; "-" where it is refused.
	empty string
	// open enums take other names too, which the worker knows.
	open bool
}{
	"Kind":            {listed(domain.Kinds), "invalid denied throttled unavailable too_large internal", decoded[domain.Kind], "-", false},
	"Code":            {listed(domain.Codes), "blocked not_run interrupted outcome_unknown timeout empty_response filtered invalid_output quota auth context_overflow context_lost hook_failed malformed model_not_found unknown_tool worker_shutdown terminated timed_out given_up rerouted denied unsettled", decoded[domain.Code], "", false},
	"Role":            {listed(domain.Roles), "system developer user assistant tool", decoded[domain.Role], "-", false},
	"PartType":        {listed(domain.PartTypes), "text image file audio reasoning", decoded[domain.PartType], "-", false},
	"FormatType":      {listed(domain.FormatTypes), "text json_object json_schema", decoded[domain.FormatType], "text", false},
	"Effect":          {listed(domain.Effects), "read_only idempotent keyed at_most_once", decoded[domain.Effect], "at_most_once", false},
	"ModelOutcome":    {listed(contract.ModelOutcomes), "answered interrupted worker_shutdown failed", decoded[contract.ModelOutcome], "-", false},
	"InferencePhase":  {listed(contract.InferencePhases), "waiting requested streaming running", decoded[contract.InferencePhase], "-", false},
	"SessionState":    {listed(contract.SessionStates), "began busy closed", decoded[contract.SessionState], "-", false},
	"Delivery":        {listed(contract.Deliveries), "refuse steer queue", decoded[contract.Delivery], "refuse", false},
	"StopMode":        {listed(contract.StopModes), "after_step after_inference now", decoded[contract.StopMode], "after_step", false},
	"StatusSource":    {listed(contract.StatusSources), "workflow heartbeat history memo server records", decoded[contract.StatusSource], "-", false},
	"ExecutionStatus": {listed(domain.ExecutionStatuses), "pending in_progress completed stopped failed", decoded[domain.ExecutionStatus], "-", false},
	"FinishReason":    {listed(domain.FinishReasons), "stop length tool_calls content_filter refusal error other", decoded[domain.FinishReason], "-", false},
	"StopReason":      {listed(domain.StopReasons), "error stop_requested steps_limit token_limit cost_limit tool_call_limit time_limit retry_limit finish_reason user_requested completed unknown", decoded[domain.StopReason], "-", false},
	"ToolOutcome":     {listed(domain.ToolOutcomes), "ok failed blocked not_run outcome_unknown running", decoded[domain.ToolOutcome], "-", false},
	"Verdict":         {listed(domain.Verdicts), "done not_done", decoded[domain.Verdict], "-", false},
	"StepType":        {listed(domain.StepTypes), "error tool_execution final_response", decoded[domain.StepType], "-", false},
	"Compiler":        {listed(domain.Compilers), "whole_conversation current_trace selected_sections", decoded[domain.Compiler], "whole_conversation", true},
	"Trigger":         {listed(domain.Triggers), "before_execution before_step before_inference after_inference before_tool_use after_tool_use after_step on_error on_stop after_execution", decoded[domain.Trigger], "-", false},
	"EventType":       {listed(domain.EventTypes), "AgentExecutionStarted MessageReceived AgentStepStarted InferenceRequestStarted InferenceResponseReceived ToolCallStarted ToolCallCompleted ToolCallBlocked ToolApprovalRequested ToolApprovalDecided UserQuestionAsked UserQuestionAnswered ToolOutcomeUnknown ToolOutcomeSettled AgentStepCompleted TokenUsageReported ContinuationEvaluated StopSignalReceived SubagentSpawning SubagentGranted SubagentCompleted ConversationHandedOver AgentExecutionStopped AgentExecutionCompleted AgentExecutionFailed", decoded[domain.EventType], "-", false},
	"Limit":           {listed(domain.Limits), "max_steps max_tokens max_cost max_tool_calls max_seconds deadline", decoded[domain.Limit], "-", false},
	"StepsFrom":       {listed(domain.StepsFroms), "default none", decoded[domain.StepsFrom], "-", false},
	"Unit":            {listed(domain.Units), "steps tokens milliseconds nano_usd tool_calls time", decoded[domain.Unit], "-", false},
	"Failure":         {listed(domain.Failures), "unavailable throttled quota auth model_not_found context_overflow filtered", decoded[domain.Failure], "-", false},
	"OutputMode":      {listed(domain.OutputModes), "native tool instruction", decoded[domain.OutputMode], "", false},
	"Hint":            {listed(domain.Hints), "destructive open_world", decoded[domain.Hint], "-", false},
	"Permission":      {listed(domain.Permissions), "allow ask deny", decoded[domain.Permission], "-", false},
	"Expiry":          {listed(domain.Expiries), "deny stop", decoded[domain.Expiry], "deny", false},
	"Decision":        {listed(domain.Decisions), "approved denied expired", decoded[domain.Decision], "", false},
	"AnswerOutcome":   {listed(domain.AnswerOutcomes), "answered default expired", decoded[domain.AnswerOutcome], "", false},
	"Boundary":        {listed(contract.Boundaries), "before_request in_stream after_request before_effect after_effect among_calls between_steps continuing in_summary before_hook after_hook checking paused going_on", decoded[contract.Boundary], "-", false},
}

func listed[E ~string](list func() []E) []string {
	var values []string
	for _, value := range list() {
		values = append(values, string(value))
	}
	return values
}

func decoded[E ~string, P interface {
	*E
	encoding.TextUnmarshaler
}](text string) (string, error) {
	var value E
	err := P(&value).UnmarshalText([]byte(text))
	return string(value), err
}

func TestEnumValues(t *testing.T) {
	t.Parallel()
	for name, enum := range enums {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, strings.Fields(enum.values), enum.listed)
			for _, value := range enum.listed {
				got, err := enum.decode(value)
				require.NoError(t, err)
				require.Equal(t, value, got)
				_, err = enum.decode(strings.ToUpper(value))
				require.Error(t, err)
			}
			got, err := enum.decode("nonsense")
			if enum.open {
				require.NoError(t, err)
				require.Equal(t, "nonsense", got)
			} else {
				require.ErrorContains(t, err, `"nonsense" is none of `+enum.listed[0])
				require.Empty(t, got)
			}
			got, err = enum.decode("")
			if enum.empty == "-" {
				require.Error(t, err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, enum.empty, got)
		})
	}
}

// TestEnumListsMissNone reads the source: each string type that has constants is
// in the table above, and its list function names each constant once. Of a list that
// is made of a table the source does not tell what is in it, but how many there have to be.
func TestEnumListsMissNone(t *testing.T) {
	t.Parallel()
	types, constants, lists := enumSource(t)
	seen := 0
	for name := range types {
		if len(constants[name]) == 0 {
			continue
		}
		seen++
		require.Contains(t, enums, name, "type %s has constants and no row in this test", name)
		if lists[name] != nil {
			require.ElementsMatch(t, constants[name], lists[name], "the list of %s", name)
		}
		require.Len(t, enums[name].listed, len(constants[name]), "the list of %s", name)
	}
	require.Equal(t, len(enums), seen)
}

// enumSource returns the package's string types, the names of the constants of
// each, and the names that the function without arguments returning a slice of
// it lists.
func enumSource(t *testing.T) (types map[string]bool, constants, lists map[string][]string) {
	t.Helper()
	types, constants, lists = map[string]bool{}, map[string][]string{}, map[string][]string{}
	for _, file := range sources(t) {
		if dir := filepath.Dir(file); dir != "." && dir != "contract" {
			continue // rooms have tests of their own
		}
		for _, decl := range parsed(t, file).Decls {
			switch decl := decl.(type) {
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					noteSpec(t, decl.Tok, spec, types, constants)
				}
			case *ast.FuncDecl:
				noteList(t, decl, lists)
			}
		}
	}
	return types, constants, lists
}

func noteSpec(t *testing.T, tok token.Token, spec ast.Spec, types map[string]bool, constants map[string][]string) {
	t.Helper()
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		if spec.TypeParams == nil && printed(t, spec.Type) == "string" {
			types[spec.Name.Name] = true
		}
	case *ast.ValueSpec:
		if tok != token.CONST {
			return
		}
		for _, name := range spec.Names {
			typ := printed(t, spec.Type)
			constants[typ] = append(constants[typ], name.Name)
		}
	}
}

func noteList(t *testing.T, f *ast.FuncDecl, lists map[string][]string) {
	t.Helper()
	if f.Recv != nil || f.Type.Results == nil || len(f.Type.Params.List) > 0 || len(f.Body.List) != 1 {
		return
	}
	result, ok := f.Body.List[0].(*ast.ReturnStmt)
	if !ok || len(result.Results) != 1 {
		return
	}
	literal, ok := result.Results[0].(*ast.CompositeLit)
	if !ok {
		return
	}
	array, ok := literal.Type.(*ast.ArrayType)
	if !ok {
		return
	}
	element := printed(t, array.Elt)
	for _, item := range literal.Elts {
		lists[element] = append(lists[element], printed(t, item))
	}
}

// TestCompilerNames: any plain name is one, that of a worker's own compiler too.
func TestCompilerNames(t *testing.T) {
	t.Parallel()
	for _, c := range domain.Compilers() {
		require.True(t, c.Builtin(), c)
	}
	require.True(t, domain.Compiler("").Builtin())
	require.True(t, domain.Compiler("").ShowsTraces())
	require.False(t, domain.CurrentTrace.ShowsTraces())
	require.True(t, domain.WholeConversation.ShowsTraces())
	longest := strings.Repeat("x", domain.MaxCompilerName)
	for _, name := range []string{"newest_first", "v2", "a0z9", longest} {
		got, err := decoded[domain.Compiler](name)
		require.NoError(t, err)
		require.Equal(t, name, got)
		require.False(t, domain.Compiler(name).Builtin(), name)
	}
	for name, fault := range map[string]string{
		"Newest": "is no name of one", "a-b": "is no name of one", "a b": "is no name of one", "`": "is no name of one", "{": "is no name of one", "/": "is no name of one", ":": "is no name of one", "\xff": "is no name of one",
		longest + "x": "has 65 bytes; at most 64",
	} {
		_, err := decoded[domain.Compiler](name)
		require.ErrorContains(t, err, fault, "%q", name)
	}
}

func TestKindRetryable(t *testing.T) {
	t.Parallel()
	var retryable []domain.Kind
	for _, kind := range domain.Kinds() {
		if kind.Retryable() {
			retryable = append(retryable, kind)
		}
	}
	require.Equal(t, []domain.Kind{domain.Throttled, domain.Unavailable}, retryable)
}

func TestEffectRepeatable(t *testing.T) {
	t.Parallel()
	for _, effect := range domain.Effects() {
		require.Equal(t, effect != domain.AtMostOnce, effect.Repeatable(), effect)
	}
	require.False(t, domain.Effect("").Repeatable(), "a tool that says nothing runs at most once")
}
