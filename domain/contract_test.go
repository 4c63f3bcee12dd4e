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
