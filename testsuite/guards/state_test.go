package guards_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// ownSource imports packages of the project from their source; of all others it knows the name alone.
type ownSource struct {
	t     *testing.T
	fset  *token.FileSet
	info  *types.Info
	known map[string]*types.Package
	files map[string][]*ast.File
}

func (o ownSource) Import(path string) (*types.Package, error) {
	if known := o.known[path]; known != nil {
		return known, nil
	}
	files := o.files[path]
	if files == nil {
		foreign := types.NewPackage(path, filepath.Base(path))
		foreign.MarkComplete()
		o.known[path] = foreign
		return foreign, nil
	}
	config := types.Config{Importer: o, Error: func(error) {}}
	own, _ := config.Check(path, o.fset, files, o.info)
	o.known[path] = own
	return own, nil
}

// TestStatesChangeInDomainAlone reads the source of all that is no test: outside domain nobody assigns to a field of a state,
// or to what a field holds. States share what their fields point to.
func TestStatesChangeInDomainAlone(t *testing.T) {
	t.Parallel()
	source := ownSource{
		t: t, fset: token.NewFileSet(), info: &types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}},
		known: map[string]*types.Package{}, files: map[string][]*ast.File{},
	}
	root := filepath.Join("..", "..")
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(source.fset, path, nil, 0)
		if err == nil {
			folder, _ := filepath.Rel(root, filepath.Dir(path))
			name := "everstep/" + filepath.ToSlash(folder)
			source.files[name] = append(source.files[name], file)
		}
		return err
	}))
	for path := range source.files {
		_, err := source.Import(path)
		require.NoError(t, err)
	}
	read := 0
	for path, files := range source.files {
		for _, file := range files {
			ast.Inspect(file, func(n ast.Node) bool {
				var targets []ast.Expr
				switch n := n.(type) {
				case *ast.AssignStmt:
					targets = n.Lhs
				case *ast.IncDecStmt:
					targets = []ast.Expr{n.X}
				}
				for _, target := range targets {
					if field := source.stateField(target); field != "" {
						read++
						require.Equal(t, "everstep/domain", path, "%s: it assigns to %s; change a state by its methods", source.fset.Position(n.Pos()), field)
					}
				}
				return true
			})
		}
	}
	require.Greater(t, read, 30, "domain itself assigns to them")
}

// stateField is the field of a state that an assignment to an expression changes, or changes something in.
func (o ownSource) stateField(e ast.Expr) string {
	for {
		switch at := e.(type) {
		case *ast.ParenExpr:
			e = at.X
		case *ast.IndexExpr:
			e = at.X
		case *ast.StarExpr:
			e = at.X
		case *ast.SelectorExpr:
			selection := o.info.Selections[at]
			if selection == nil {
				return ""
			}
			holder := selection.Recv()
			if pointer, ok := holder.(*types.Pointer); ok {
				holder = pointer.Elem()
			}
			switch holder.String() {
			case "everstep/domain.AgentState", "everstep/domain.ExecutionState", "everstep/domain.AgentContext":
				return at.Sel.Name
			}
			e = at.X
		default:
			return ""
		}
	}
}
