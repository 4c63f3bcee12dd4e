package domain_test

import (
	"encoding"
	"go/ast"
	"go/token"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

// enums pins the values of each enum: they are recorded, so one may be added and
// none changed.
var enums = map[string]struct {
	listed []string
	values string
	decode func(string) (string, error)
	// empty is what the empty text reads as; "-" where it is refused.
	empty string
}{
	"Kind":            {listed(domain.Kinds), "invalid denied throttled unavailable too_large internal", decoded[domain.Kind], "-"},
	"Code":            {listed(domain.Codes), "blocked not_run interrupted outcome_unknown timeout empty_response filtered invalid_output quota auth context_overflow context_lost hook_failed malformed model_not_found unknown_tool worker_shutdown terminated timed_out", decoded[domain.Code], ""},
	"Role":            {listed(domain.Roles), "system developer user assistant tool", decoded[domain.Role], "-"},
	"PartType":        {listed(domain.PartTypes), "text image file audio reasoning", decoded[domain.PartType], "-"},
	"FormatType":      {listed(domain.FormatTypes), "text json_object json_schema", decoded[domain.FormatType], "text"},
	"Effect":          {listed(domain.Effects), "read_only idempotent keyed at_most_once", decoded[domain.Effect], "at_most_once"},
	"ModelOutcome":    {listed(domain.ModelOutcomes), "answered interrupted worker_shutdown failed", decoded[domain.ModelOutcome], "-"},
	"InferencePhase":  {listed(domain.InferencePhases), "waiting requested streaming running", decoded[domain.InferencePhase], "-"},
	"StopMode":        {listed(domain.StopModes), "after_step after_inference now", decoded[domain.StopMode], "after_step"},
	"StatusSource":    {listed(domain.StatusSources), "workflow heartbeat history memo server", decoded[domain.StatusSource], "-"},
	"ExecutionStatus": {listed(domain.ExecutionStatuses), "pending in_progress completed stopped failed", decoded[domain.ExecutionStatus], "-"},
	"FinishReason":    {listed(domain.FinishReasons), "stop length tool_calls content_filter refusal error other", decoded[domain.FinishReason], "-"},
	"StopReason":      {listed(domain.StopReasons), "error stop_requested steps_limit token_limit cost_limit tool_call_limit time_limit retry_limit finish_reason user_requested completed unknown", decoded[domain.StopReason], "-"},
	"StepType":        {listed(domain.StepTypes), "error tool_execution final_response", decoded[domain.StepType], "-"},
	"Compiler":        {listed(domain.Compilers), "current_trace all_sections selected_sections", decoded[domain.Compiler], "current_trace"},
	"Boundary":        {listed(domain.Boundaries), "before_request in_stream after_request before_effect after_effect among_calls between_steps continuing", decoded[domain.Boundary], "-"},
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
				require.ErrorContains(t, err, "is none of")
			}
			got, err := enum.decode("nonsense")
			require.ErrorContains(t, err, `"nonsense" is none of `+enum.listed[0])
			require.Empty(t, got)
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
// in the table above, and its list function names each constant once.
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
		require.Contains(t, lists, name, "type %s has constants and no list function", name)
		require.ElementsMatch(t, constants[name], lists[name], "the list of %s", name)
	}
	require.Equal(t, len(enums), seen)
}

// enumSource returns the package's string types, the names of the constants of
// each, and the names that the function without arguments returning a slice of
// it lists.
func enumSource(t *testing.T) (types map[string]bool, constants, lists map[string][]string) {
	t.Helper()
	types, constants, lists = map[string]bool{}, map[string][]string{}, map[string][]string{}
	files, err := os.ReadDir(".")
	require.NoError(t, err)
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") || strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		for _, decl := range parsed(t, file.Name()).Decls {
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

func TestStopModeStronger(t *testing.T) {
	t.Parallel()
	modes := domain.StopModes()
	for i, a := range modes {
		for k, b := range modes {
			require.Equal(t, modes[max(i, k)], a.Stronger(b), "%s and %s", a, b)
		}
	}
	require.Equal(t, domain.AfterStep, domain.StopMode("").Stronger(""))
}
