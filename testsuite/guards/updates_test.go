package guards_test

import (
	"go/ast"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEachUpdateIsKnown: what a client may ask of a running agent is accepted by the workflow, asked by a method of the client,
// and has its row if it is a command.
func TestEachUpdateIsKnown(t *testing.T) {
	t.Parallel()
	updates, rows := map[string]bool{}, map[string]bool{"UpdateAwait": true} // who waits asks for nothing
	_, files := sourcesBelow(t, "domain/contract")
	for _, file := range files {
		for _, object := range file.Scope.Objects {
			if object.Kind == ast.Con && strings.HasPrefix(object.Name, "Update") {
				updates[object.Name] = true
			}
			if rules, ok := object.Decl.(*ast.FuncDecl); ok && object.Name == "commandRules" {
				ast.Inspect(rules, func(n ast.Node) bool {
					if name, ok := n.(*ast.Ident); ok {
						rows[name.Name] = true
					}
					return true
				})
			}
		}
	}
	require.Greater(t, len(updates), 10)
	named := func(folder string) map[string]bool {
		names := map[string]bool{}
		fset, files := sourcesBelow(t, folder)
		for _, file := range files {
			ast.Inspect(file, func(n ast.Node) bool {
				if name, ok := n.(*ast.SelectorExpr); ok && written(t, fset, name.X) == "contract" {
					names[name.Sel.Name] = true
				}
				return true
			})
		}
		return names
	}
	accepted, asked := named("workflows"), named("starter/client")
	for update := range updates {
		require.True(t, accepted[update], "no workflow accepts contract.%s: acceptCommands of workflows/commands.go does", update)
		require.True(t, rows[update], "contract.%s has no row in commandRules of domain/contract/command.go", update)
		require.True(t, asked[update], "no method of starter/client asks for contract.%s", update)
	}
}
