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
	"everstep/domain/enum"
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
	"Kind":            {listed(enum.Known[domain.Kind]), decoded[domain.Kind], "-", false},
	"Code":            {listed(enum.Known[domain.Code]), decoded[domain.Code], "-", false},
	"Role":            {listed(enum.Known[domain.Role]), decoded[domain.Role], "-", false},
	"PartType":        {listed(enum.Known[domain.PartType]), decoded[domain.PartType], "-", false},
	"FormatType":      {listed(enum.Known[domain.FormatType]), decoded[domain.FormatType], "text", false},
	"Effect":          {listed(enum.Known[domain.Effect]), decoded[domain.Effect], "at_most_once", false},
	"ModelOutcome":    {listed(enum.Known[contract.ModelOutcome]), decoded[contract.ModelOutcome], "-", false},
	"InferencePhase":  {listed(enum.Known[contract.InferencePhase]), decoded[contract.InferencePhase], "-", false},
	"SessionState":    {listed(enum.Known[contract.SessionState]), decoded[contract.SessionState], "-", false},
	"Delivery":        {listed(enum.Known[contract.Delivery]), decoded[contract.Delivery], "refuse", false},
	"StopMode":        {listed(enum.Known[contract.StopMode]), decoded[contract.StopMode], "after_step", false},
	"StatusSource":    {listed(enum.Known[contract.StatusSource]), decoded[contract.StatusSource], "-", false},
	"ExecutionStatus": {listed(enum.Known[domain.ExecutionStatus]), decoded[domain.ExecutionStatus], "-", false},
	"FinishReason":    {listed(enum.Known[domain.FinishReason]), decoded[domain.FinishReason], "-", false},
	"StopReason":      {listed(enum.Known[domain.StopReason]), decoded[domain.StopReason], "-", false},
	"ToolOutcome":     {listed(enum.Known[domain.ToolOutcome]), decoded[domain.ToolOutcome], "-", false},
	"WaitKind":        {listed(enum.Known[domain.WaitKind]), decoded[domain.WaitKind], "-", false},
	"Verdict":         {listed(enum.Known[domain.Verdict]), decoded[domain.Verdict], "-", false},
	"StepType":        {listed(enum.Known[domain.StepType]), decoded[domain.StepType], "-", false},
	"Compiler":        {listed(domain.Compilers), decoded[domain.Compiler], "whole_conversation", true},
	"Trigger":         {listed(enum.Known[domain.Trigger]), decoded[domain.Trigger], "-", false},
	"EventType":       {listed(domain.EventTypes), decoded[domain.EventType], "-", false},
	"Limit":           {listed(domain.Limits), decoded[domain.Limit], "-", false},
	"StepsFrom":       {listed(enum.Known[domain.StepsFrom]), decoded[domain.StepsFrom], "-", false},
	"Unit":            {listed(enum.Known[domain.Unit]), decoded[domain.Unit], "-", false},
	"Failure":         {listed(enum.Known[domain.Failure]), decoded[domain.Failure], "-", false},
	"OutputMode":      {listed(enum.Known[domain.OutputMode]), decoded[domain.OutputMode], "", false},
	"Hint":            {listed(enum.Known[domain.Hint]), decoded[domain.Hint], "-", false},
	"Permission":      {listed(enum.Known[domain.Permission]), decoded[domain.Permission], "-", false},
	"Expiry":          {listed(enum.Known[domain.Expiry]), decoded[domain.Expiry], "deny", false},
	"Mark":            {listed(enum.Known[domain.Mark]), decoded[domain.Mark], "-", false},
	"Boundary":        {listed(enum.Known[contract.Boundary]), decoded[contract.Boundary], "-", false},
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
// in the table above, and its UnmarshalText names each constant once. Of a list that
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
// each, and those that its UnmarshalText names.
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

// noteList notes the words that a type's UnmarshalText names.
func noteList(t *testing.T, f *ast.FuncDecl, lists map[string][]string) {
	t.Helper()
	if f.Name.Name != "UnmarshalText" {
		return
	}
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || call.Ellipsis != token.NoPos {
			return true
		}
		first, decodes := map[string]int{"enum.Decode": 3, "enum.DecodeOr": 4}[printed(t, call.Fun)]
		if decodes {
			element := strings.TrimPrefix(printed(t, f.Recv.List[0].Type), "*")
			for _, item := range call.Args[first:] {
				lists[element] = append(lists[element], printed(t, item))
			}
		}
		return true
	})
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
	for _, kind := range enum.Known[domain.Kind]() {
		if kind.Retryable() {
			retryable = append(retryable, kind)
		}
	}
	require.Equal(t, []domain.Kind{domain.Throttled, domain.Unavailable}, retryable)
}

func TestEffectRepeatable(t *testing.T) {
	t.Parallel()
	for _, effect := range enum.Known[domain.Effect]() {
		require.Equal(t, effect != domain.AtMostOnce, effect.Repeatable(), effect)
	}
	require.False(t, domain.Effect("").Repeatable(), "a tool that says nothing runs at most once")
}
