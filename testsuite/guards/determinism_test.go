package guards_test

import (
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// sourcesBelow are the files of a folder of the project and of those in it, without tests.
func sourcesBelow(t *testing.T, folder string) (fset *token.FileSet, files []*ast.File) {
	t.Helper()
	fset = token.NewFileSet()
	require.NoError(t, filepath.WalkDir(filepath.Join("..", "..", folder), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(fset, path, nil, 0)
		files = append(files, file)
		return err
	}))
	require.NotEmpty(t, files)
	return fset, files
}

func written(t *testing.T, fset *token.FileSet, n ast.Node) string {
	t.Helper()
	var text strings.Builder
	require.NoError(t, printer.Fprint(&text, fset, n))
	return text.String()
}

// TestNoClockNoRandomness reads the source of domain and of workflows: times and ids are arguments there.
func TestNoClockNoRandomness(t *testing.T) {
	t.Parallel()
	forbidden := map[string]bool{
		"time.Now": true, "time.Since": true, "time.Until": true, "time.Sleep": true, "time.After": true, "time.AfterFunc": true,
		"time.NewTimer": true, "time.NewTicker": true, "time.Tick": true, "uuid.New": true, "uuid.NewString": true,
		"uuid.NewRandom": true, "uuid.NewV7": true, "uuid.NewUUID": true, "uuid.NewV6": true,
	}
	for _, folder := range []string{"domain", "workflows"} {
		fset, files := sourcesBelow(t, folder)
		for _, file := range files {
			ast.Inspect(file, func(n ast.Node) bool {
				if name, ok := n.(*ast.SelectorExpr); ok {
					require.False(t, forbidden[written(t, fset, name)], "%s uses %s; the time is an argument, in a workflow that of workflow.Now", fset.Position(n.Pos()), written(t, fset, name))
				}
				return true
			})
		}
	}
}

// TestWorkflowsKeepToTheirHistory reads the source of workflows: what is Go's own and runs beside a workflow, or outlives
// it, would differ on replay. The linter workflowcheck looks deeper, and sees ranges over maps; it sees no variables.
func TestWorkflowsKeepToTheirHistory(t *testing.T) {
	t.Parallel()
	lasting := map[string]string{"_": "a proof at compile time", "scheduledBy": "a key, which nothing changes"}
	fset, files := sourcesBelow(t, "workflows")
	for _, file := range files {
		if file.Name.Name == "replay" { // it runs workflows, and is none
			continue
		}
		for _, declared := range file.Decls {
			if general, ok := declared.(*ast.GenDecl); ok && general.Tok == token.VAR {
				for _, spec := range general.Specs {
					for _, name := range spec.(*ast.ValueSpec).Names {
						require.True(t, lasting[name.Name] != "" || strings.HasPrefix(name.Name, "err"),
							"%s: the variable %s outlives a workflow; keep it in the session, or make it a constant or a function", fset.Position(name.Pos()), name.Name)
					}
				}
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			var instead string
			switch n := n.(type) {
			case *ast.GoStmt:
				instead = "workflow.Go"
			case *ast.SelectStmt:
				instead = "workflow.NewSelector"
			case *ast.ChanType:
				instead = "workflow.Channel"
			case *ast.SelectorExpr:
				if written(t, fset, n.X) == "sync" {
					instead = "workflow.Await, since coroutines take turns"
				}
			}
			require.Empty(t, instead, "%s: use %s", fset.Position(positionOf(n)), instead)
			return true
		})
	}
}

func positionOf(n ast.Node) token.Pos {
	if n == nil {
		return token.NoPos
	}
	return n.Pos()
}
