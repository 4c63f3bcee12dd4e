package guards_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/converter"
)

// unkept are the versions of which no history is kept, and why.
func unkept() map[string]string {
	const other = "what was kept of it replays no more: sub-agents draw from a default of steps, and tell what they have done"
	return map[string]string{
		"agent-tools": other, "budget-requests": other, "hears-waits": other, "held-subagents": other, "level-grace": other,
		"carried-definitions": other, "idle-outage": other, "kept-answers": other, "storage-outage": other,
		"early-seats":   "what its sub-agents start with takes megabytes",
		"bounded-waits": "its calls are asked about a thousand times before, which takes megabytes",
	}
}

// TestEachVersionIsKept: of each version of the workflow there is a history in which it was recorded, so that the
// sequence which it began goes on replaying.
func TestEachVersionIsKept(t *testing.T) {
	t.Parallel()
	kept := map[string]bool{}
	for _, path := range keptFiles(t) {
		for _, event := range readHistory(t, path).GetEvents() {
			marker := event.GetMarkerRecordedEventAttributes()
			if event.GetEventType() != enumspb.EVENT_TYPE_MARKER_RECORDED || marker.GetMarkerName() != "Version" {
				continue
			}
			var version string
			require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(marker.GetDetails()["change-id"], &version))
			kept[version] = true
		}
	}
	var lacking []string
	for _, version := range versions(t) {
		if _, known := unkept()[version]; !kept[version] && !known {
			lacking = append(lacking, version)
		}
	}
	require.Empty(t, lacking, "no kept history has them: record one for each by a case in TestRecordHistories")
	for version := range unkept() {
		require.False(t, kept[version], "%s is kept by now", version)
		require.Contains(t, versions(t), version)
	}
}

// versions are those that the workflow's source has. The comment of each says that it is one, and whatever asks the SDK
// for a version names such a constant.
func versions(t *testing.T) (all []string) {
	t.Helper()
	var asked []string
	ids := map[string]string{}
	require.NoError(t, filepath.WalkDir("../../workflows", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GenDecl:
				said := strings.Join(strings.Fields(n.Doc.Text()), " ")
				if n.Tok == token.CONST && (strings.Contains(said, "version from which") || strings.Contains(said, "that from which")) {
					for _, spec := range n.Specs {
						value := spec.(*ast.ValueSpec)
						id, err := strconv.Unquote(value.Values[0].(*ast.BasicLit).Value)
						require.NoError(t, err)
						ids[value.Names[0].Name] = id
						all = append(all, id)
					}
				}
			case *ast.CallExpr:
				if called, ok := n.Fun.(*ast.SelectorExpr); ok && called.Sel.Name == "GetVersion" {
					asked = append(asked, n.Args[1].(*ast.Ident).Name)
				}
			}
			return true
		})
		return nil
	}))
	require.NotEmpty(t, asked)
	for _, name := range asked {
		if name != "since" { // handed on: one of the others
			require.Contains(t, ids, name, "the comment of a version says from which version on what holds: \"... is the version from which ...\"")
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
