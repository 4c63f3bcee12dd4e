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

// enums is a row for each enum.
var enums = map[string]struct {
	listed []string
	decode func(string) (string, error)
	// empty is what the empty text reads as; "-" where it is refused.
	empty string
	// open enums take other names too, which the worker knows.
	open bool
}{
	"Kind":            {listed(domain.Kinds), decoded[domain.Kind], "-", false},
	"Code":            {listed(domain.Codes), decoded[domain.Code], "-", false},
	"Role":            {listed(domain.Roles), decoded[domain.Role], "-", false},
	"PartType":        {listed(domain.PartTypes), decoded[domain.PartType], "-", false},
	"FormatType":      {listed(domain.FormatTypes), decoded[domain.FormatType], "text", false},
	"Effect":          {listed(domain.Effects), decoded[domain.Effect], "at_most_once", false},
	"ModelOutcome":    {listed(contract.ModelOutcomes), decoded[contract.ModelOutcome], "-", false},
	"InferencePhase":  {listed(contract.InferencePhases), decoded[contract.InferencePhase], "-", false},
	"SessionState":    {listed(contract.SessionStates), decoded[contract.SessionState], "-", false},
	"Delivery":        {listed(contract.Deliveries), decoded[contract.Delivery], "refuse", false},
	"StopMode":        {listed(contract.StopModes), decoded[contract.StopMode], "after_step", false},
	"StatusSource":    {listed(contract.StatusSources), decoded[contract.StatusSource], "-", false},
	"ExecutionStatus": {listed(domain.ExecutionStatuses), decoded[domain.ExecutionStatus], "-", false},
	"FinishReason":    {listed(domain.FinishReasons), decoded[domain.FinishReason], "-", false},
	"StopReason":      {listed(domain.StopReasons), decoded[domain.StopReason], "-", false},
	"ToolOutcome":     {listed(domain.ToolOutcomes), decoded[domain.ToolOutcome], "-", false},
	"Verdict":         {listed(domain.Verdicts), decoded[domain.Verdict], "-", false},
	"StepType":        {listed(domain.StepTypes), decoded[domain.StepType], "-", false},
	"Compiler":        {listed(domain.Compilers), decoded[domain.Compiler], "whole_conversation", true},
	"Trigger":         {listed(domain.Triggers), decoded[domain.Trigger], "-", false},
	"EventType":       {listed(domain.EventTypes), decoded[domain.EventType], "-", false},
	"Limit":           {listed(domain.Limits), decoded[domain.Limit], "-", false},
	"StepsFrom":       {listed(domain.StepsFroms), decoded[domain.StepsFrom], "-", false},
	"Unit":            {listed(domain.Units), decoded[domain.Unit], "-", false},
	"Failure":         {listed(domain.Failures), decoded[domain.Failure], "-", false},
	"OutputMode":      {listed(domain.OutputModes), decoded[domain.OutputMode], "", false},
	"Hint":            {listed(domain.Hints), decoded[domain.Hint], "-", false},
	"Permission":      {listed(domain.Permissions), decoded[domain.Permission], "-", false},
	"Expiry":          {listed(domain.Expiries), decoded[domain.Expiry], "deny", false},
	"Decision":        {listed(domain.Decisions), decoded[domain.Decision], "-", false},
	"AnswerOutcome":   {listed(domain.AnswerOutcomes), decoded[domain.AnswerOutcome], "-", false},
	"Mark":            {listed(domain.Marks), decoded[domain.Mark], "-", false},
	"Boundary":        {listed(contract.Boundaries), decoded[contract.Boundary], "-", false},
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

// TestEnumsReadTheirOwnWords and no others.
func TestEnumsReadTheirOwnWords(t *testing.T) {
	t.Parallel()
	for name, enum := range enums {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
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
