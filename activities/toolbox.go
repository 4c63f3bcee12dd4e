package activities

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"everstep/activities/tool"
	"everstep/domain"
)

// A Toolbox has tools that are known only when somebody is asked for them, such as
// those of MCP servers. It is used by many at once.
type Toolbox interface {
	// Has reports whether tools of that name are the toolbox's, there or not. It asks nobody.
	Has(name string) bool
	// Effect is what is configured for such a tool, which may turn out stricter. It asks nobody.
	Effect(name string) domain.Effect
	// Find returns the tool as it is now. Its errors are marked by tool.NotStarted.
	Find(ctx context.Context, name string) (tool.Tool, error)
	// All returns all tools of one of the toolbox's servers as they are now, one at least.
	// Its errors are as Find's.
	All(ctx context.Context, server string) ([]tool.Tool, error)
	// Prefixes say how the names of its tools begin, for messages.
	Prefixes() []string
}

// has reports whether a tool is a toolbox's, which may be nil: there is none.
func has(box Toolbox, name string) bool { return box != nil && box.Has(name) }

// remote reports whether a tool is the toolbox's, and one that this worker runs.
func (a *Activities) remote(name string) bool {
	_, own := a.tools[name]
	return !own && has(a.config.Toolbox, name) && a.config.Allow.Tool(name)
}

// tool is the one that a call names. One of the toolbox's is looked for when it runs.
func (a *Activities) tool(call toolCall) (tool.Tool, bool) {
	name := call.request.Name
	if !a.remote(name) {
		own, ok := a.tools[name]
		return own, ok
	}
	spec := domain.ToolSpec{Name: name, Effect: a.config.Toolbox.Effect(name)}
	return tool.FromSpec(spec, func(ctx context.Context, arguments json.RawMessage) (none tool.Result, _ error) {
		found, err := a.found(ctx, call)
		if err != nil {
			return none, err
		}
		if call.request.Pending != nil { // it was called as it was
			return found.Call(ctx, string(arguments))
		}
		if now := found.Spec(); !call.request.Pin.IsZero() && now.Pin != call.request.Pin {
			return none, tool.NotStarted(changed(a.given(call), now))
		} else if stricter(call.effect, now.Effect) != call.effect {
			return none, tool.NotStarted(domain.CodedErrorf(domain.Denied, domain.CodeNotRun,
				"not run: %s was %s when this agent was given it, and is %s now; an execution that begins now takes it as it is", name, call.effect, now.Effect))
		}
		return found.Call(ctx, string(arguments))
	}), true
}

// given is the tool as its agent was given it, as far as this worker still knows.
func (a *Activities) given(call toolCall) domain.ToolSpec {
	_, resolved, _ := a.config.Transcripts.Cache.Find(call.info.WorkflowExecution.ID)
	spec, _ := resolved.Tool(call.request.Name)
	if spec.Pin != call.request.Pin {
		return domain.ToolSpec{Name: call.request.Name}
	}
	return spec
}

// changed is the error of a call of a tool that is no more what its agent was given,
// and shows the difference. A worker that no longer knows what it was says so.
func changed(given, now domain.ToolSpec) error {
	var parts []string
	for _, part := range []struct{ what, then, now string }{
		{"description", given.Description, now.Description}, {"schema", string(given.Schema), string(now.Schema)},
	} {
		if part.then != part.now {
			parts = append(parts, fmt.Sprintf("its %s %s", part.what, difference(part.then, part.now)))
		}
	}
	if given.Pin.IsZero() {
		parts = []string{fmt.Sprintf("what it was is not known here; it is described now as %q", domain.Shorten(now.Description, maxShownChange))}
	}
	return domain.CodedErrorf(domain.Denied, domain.CodeNotRun, "not run: its server has changed the tool %s since this agent was given it: %s; "+
		"somebody has to look at the change, and a new session takes the tool as it is", now.Name,
		cmp.Or(strings.Join(parts, "; "), "another tool of the server has its name now"))
}

// maxShownChange bounds, in bytes, how much of a change is shown on either side.
const maxShownChange = 200

// difference shows two texts from shortly before where they part.
func difference(then, now string) string {
	const before = 20
	at := 0
	for at < min(len(then), len(now)) && then[at] == now[at] {
		at++
	}
	at = max(at-before, 0)
	excerpt := func(text string) string {
		text = strings.ToValidUTF8(text[min(at, len(text)):], "")
		short := domain.Shorten(text, maxShownChange)
		if short != text {
			short += "…"
		}
		if at > 0 {
			short = "…" + short
		}
		return short
	}
	return fmt.Sprintf("was %q and is %q", excerpt(then), excerpt(now))
}
