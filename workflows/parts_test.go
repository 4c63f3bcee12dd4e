package workflows_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// layers lists the package's files from the workflow down to what it is made of.
// Calls go down.
var layers = []string{
	"execute.go", "scheduled.go", "loop.go", "commands.go", "await.go", "rewind.go", "extend.go", "update.go", "views.go", "account.go", "finish.go", "messages.go", "life.go", "session.go", "sessionbudget.go", "run.go", "outage.go", "people.go", "waitkinds.go", "carry.go", "record.go",
	"inference.go", "answer.go", "attempt.go", "tools.go", "call.go", "callattempt.go", "handoff.go", "grants.go", "children.go", "pending.go", "bindings.go", "stranded.go", "approvals.go", "guards.go", "hooks.go", "unknownoutcome.go", "turns.go", "batch.go", "openwaits.go", "ledger.go", "step.go", "bounds.go",
	"trusted.go", "config.go", "activity.go", "retries.go", "transcript.go", "agent.go", "events.go", "content.go", "failure.go", "doc.go",
}

// A reading is the package's source, as far as its own names go.
type reading struct {
	fset  *token.FileSet
	files []*ast.File
	info  *types.Info
	pkg   *types.Package
}

// foreign stands for every other package: what is of interest is this one's.
type foreign struct{}

func (foreign) Import(path string) (*types.Package, error) {
	p := types.NewPackage(path, filepath.Base(path))
	p.MarkComplete()
	return p, nil
}

func readPackage(t *testing.T) reading {
	t.Helper()
	r := reading{fset: token.NewFileSet(), info: &types.Info{
		Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
		Types: map[ast.Expr]types.TypeAndValue{},
	}}
	entries, err := os.ReadDir(".")
	require.NoError(t, err)
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		f, err := parser.ParseFile(r.fset, e.Name(), nil, 0)
		require.NoError(t, err)
		r.files = append(r.files, f)
	}
	config := types.Config{Importer: foreign{}, Error: func(error) {}}
	r.pkg, _ = config.Check("workflows", r.fset, r.files, r.info)
	return r
}

func (r reading) file(pos token.Pos) string { return r.fset.Position(pos).Filename }

// own is the struct of this package that a type is or points to; nil where it is
// another.
func (r reading) own(t types.Type) *types.Named {
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	if n, ok := t.(*types.Named); ok && n.Obj().Pkg() == r.pkg {
		return n
	}
	return nil
}

// owners are the types of this package of which an assignment to an expression
// changes a part: the one that has the field, and those that hold it by value. A
// local copy belongs to nobody.
func (r reading) owners(e ast.Expr) (owners []string) {
	for {
		switch at := e.(type) {
		case *ast.ParenExpr:
			e = at.X
		case *ast.IndexExpr:
			e = at.X
		case *ast.StarExpr:
			if own := r.own(r.info.Types[at.X].Type); own != nil {
				owners = append(owners, own.Obj().Name())
			}
			return owners
		case *ast.SelectorExpr:
			selection, ok := r.info.Selections[at]
			if !ok { // the field is of another package's struct, which the holder embeds
				holder := r.info.Types[at.X].Type
				if own := r.own(holder); own != nil {
					if _, pointer := holder.(*types.Pointer); pointer {
						owners = append(owners, own.Obj().Name())
					}
				}
				return owners
			}
			holder, shared := selection.Recv(), false
			var held []string
			for n, i := range selection.Index() {
				own := r.own(holder)
				if own == nil {
					break
				}
				if _, pointer := holder.(*types.Pointer); pointer {
					held, shared = nil, true // what holds the pointer does not hold the field
				}
				held = append(held, own.Obj().Name())
				if fields, ok := own.Underlying().(*types.Struct); ok && n < len(selection.Index())-1 {
					holder = fields.Field(i).Type()
				}
			}
			owners = append(owners, held...)
			if shared {
				return owners
			}
			e = at.X
		default:
			return nil
		}
	}
}

// TestPartsWriteTheirOwn: what a part holds is written by its own methods only,
// and none can write the session's.
func TestPartsWriteTheirOwn(t *testing.T) {
	t.Parallel()
	r := readPackage(t)
	written := map[string]bool{}
	for _, f := range r.files {
		for _, d := range f.Decls {
			function, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			receiver := ""
			if function.Recv != nil {
				receiver = r.receiver(function)
			}
			ast.Inspect(function, func(n ast.Node) bool {
				var targets []ast.Expr
				switch n := n.(type) {
				case *ast.AssignStmt:
					if n.Tok != token.DEFINE {
						targets = n.Lhs
					}
				case *ast.IncDecStmt:
					targets = []ast.Expr{n.X}
				}
				for _, target := range targets {
					if owners := r.owners(target); len(owners) > 0 {
						require.Contains(t, owners, receiver, "%s: %s", r.fset.Position(target.Pos()), function.Name.Name)
						require.NotContains(t, owners, "session", r.fset.Position(target.Pos()).String())
						written[receiver] = true
					}
				}
				return true
			})
		}
	}
	for _, part := range []string{"agent", "archive", "budget", "configuration", "guards", "inference", "records", "run", "stepRun", "call", "callAttempts", "toolBatch", "transcript", "openWait", "openWaits"} {
		require.True(t, written[part], "no method of %s writes anything", part)
	}
}

func (r reading) receiver(function *ast.FuncDecl) string {
	of := function.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	if generic, ok := of.(*ast.IndexExpr); ok {
		of = generic.X
	}
	return of.(*ast.Ident).Name
}

// TestCallsGoDown through the files, and only a mailbox starts anything.
func TestCallsGoDown(t *testing.T) {
	t.Parallel()
	r := readPackage(t)
	var files []string
	for _, f := range r.files {
		files = append(files, r.file(f.Pos()))
	}
	require.ElementsMatch(t, layers, files)
	for use, object := range r.info.Uses {
		if function, ok := object.(*types.Func); ok && function.Pkg() == r.pkg {
			from, to := r.file(use.Pos()), r.file(function.Pos())
			require.LessOrEqual(t, slices.Index(layers, from), slices.Index(layers, to), "%s calls %s of %s", from, function.Name(), to)
		}
	}
	for _, f := range r.files {
		if r.file(f.Pos()) == "scheduled.go" {
			continue // it is a workflow of its own, which starts one agent and has no admissions
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && x.Name == "workflow" {
					require.NotContains(t, []string{"ExecuteActivity", "ExecuteLocalActivity", "ExecuteChildWorkflow", "NewTimer", "Sleep"}, s.Sel.Name,
						"%s: only a permit starts something", r.fset.Position(s.Pos()))
				}
			}
			return true
		})
	}
}
