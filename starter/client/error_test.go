package client

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/temporal"

	"everstep/domain"
	"everstep/domain/enum"
)

func TestFailGivesEachErrorItsClass(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx   context.Context
		err   error
		class Class
	}{
		"one of ours":       {t.Context(), errorf(Gone, nil, "gone"), Gone},
		"unknown workflow":  {t.Context(), serviceerror.NewNotFound("x"), NotFound},
		"unknown namespace": {t.Context(), serviceerror.NewNamespaceNotFound("x"), Failed},
		"server away":       {t.Context(), serviceerror.NewUnavailable("x"), Unreachable},
		"call too slow":     {t.Context(), context.DeadlineExceeded, Unreachable},
		"refused arguments": {t.Context(), serviceerror.NewInvalidArgument("x"), Invalid},
		"caller gave up":    {ended, serviceerror.NewUnavailable("x"), Cancelled},
		"denied":            {t.Context(), temporal.NewApplicationError("no", string(domain.Denied)), Refused},
		"invalid":           {t.Context(), temporal.NewApplicationError("no", string(domain.Invalid)), Invalid},
		"with details":      {t.Context(), temporal.NewApplicationError("no", "x", domain.Error{Kind: domain.TooLarge, Message: "m"}), Invalid},
		"anything else":     {t.Context(), errors.New("x"), Failed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := fail(c.ctx, "nora", "asking", c.err)
			requireClass(t, err, c.class)
			require.NotEmpty(t, err.Error())
			require.NotErrorIs(t, err, &Error{Class: "other"})
		})
	}
}

// TestALeftReadHasStartedNothing, and its error does not speak of what goes on.
func TestALeftReadHasStartedNothing(t *testing.T) {
	t.Parallel()
	left, cancel := context.WithCancel(t.Context())
	cancel()
	err := fail(left, "nora", "reading the steps of nora", context.Canceled)
	require.EqualError(t, err, "reading the steps of nora: gave up waiting for an answer")
}

// TestListsMissNothing reads the source, so that a new constant cannot be
// forgotten in the list of its type.
func TestListsMissNothing(t *testing.T) {
	t.Parallel()
	listed := map[string][]string{}
	for _, c := range enum.Known[Class]() {
		listed["Class"] = append(listed["Class"], string(c))
		var read Class
		require.NoError(t, read.UnmarshalText([]byte(c)))
		require.Equal(t, c, read)
	}
	require.Equal(t, constants(t, "error.go", "Class"), listed["Class"])
	require.Error(t, new(Class).UnmarshalText([]byte("other")))
}

// constants returns the values of a type's constants in the order of the source.
func constants(t *testing.T, file, typ string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	require.NoError(t, err)
	var values []string
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if name, ok := spec.Type.(*ast.Ident); ok && name.Name == typ {
			value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			require.NoError(t, err)
			values = append(values, value)
		}
		return true
	})
	return values
}

// TestErrorsSpeakOfNoCommand: what only a command line has is in Next, which Go programs leave alone.
func TestErrorsSpeakOfNoCommand(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	begins := regexp.MustCompile(`(errorf|gone|session|tell)\(.*`)
	found := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, call := range begins.FindAllString(string(text), -1) {
			message, _, _ := strings.Cut(call, ").next(")
			require.NotContains(t, message, "`", file)
			require.NotContains(t, message, "--", file)
			found++
		}
	}
	require.Greater(t, found, 40)
}
