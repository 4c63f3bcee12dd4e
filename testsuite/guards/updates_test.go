package guards_test

import (
	"go/ast"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Updates that the account of history needs not, and why.
var untold = map[string]string{
	"UpdateClose": "the end of the run tells that the session is closed",
	"UpdateAwait": "it changes nothing",
}

// TestEachUpdateIsKnown: what a client may ask of a running agent is accepted by the workflow, asked by a method of the
// client, and known to whoever reads the history, so that steps, explain and watch tell of it.
func TestEachUpdateIsKnown(t *testing.T) {
	t.Parallel()
	updates := map[string]bool{}
	_, files := sourcesBelow(t, "domain/contract")
	for _, file := range files {
		for _, object := range file.Scope.Objects {
			if object.Kind == ast.Con && strings.HasPrefix(object.Name, "Update") {
				updates[object.Name] = true
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
	accepted, asked, told := named("workflows"), named("starter/client"), named("starter/client/internal/history")
	for update := range updates {
		require.True(t, accepted[update], "no workflow accepts contract.%s: acceptUpdates of workflows/updates.go does", update)
		require.True(t, asked[update], "no method of starter/client asks for contract.%s", update)
		require.True(t, told[update] != (untold[update] != ""),
			"contract.%s: starter/client/internal/history/decode.go makes a fact of domain/progress of it, or untold has why it needs not", update)
	}
}
