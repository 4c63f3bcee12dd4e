package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"everstep/activities/mcp"
	"everstep/domain"
	"everstep/starter/local"
	"everstep/starter/render"
	"everstep/worker/host"
)

func mcpCommand(p *program) *cobra.Command {
	return family(newCommand("mcp", "List and check MCP servers, whose tools agents can have", `MCP servers give agents tools. A worker has those of the file that --mcp or
`+host.MCPVariable+` names; agents name each tool, as SERVER__TOOL. These commands
start and reach the servers as a worker of this machine would. help tools says
how the file looks.`,
		`  starter mcp list --mcp ~/.config/everstep/mcp.json
  starter mcp check files`, nil), mcpListCommand(p), mcpCheckCommand(p))
}

// mcpFlags are those of both commands.
type mcpFlags struct {
	local.MCPFlags
	timeout time.Duration
}

func (f *mcpFlags) register(set *pflag.FlagSet, patience time.Duration) {
	f.Register(set)
	set.DurationVar(&f.timeout, "timeout", patience, "what each server has to start and to answer")
}

// examinedServer is a server as people are shown it.
type examinedServer struct {
	mcp.Report
	Error string `json:"error,omitzero"`
	// Rewritten are the tools whose schemas a model's API is sent otherwise, each with what is told in words or left out.
	Rewritten map[string][]string `json:"rewritten,omitempty"`
}

// examined asks some of the servers of a file at one time, and says meanwhile which of them are waited for.
func (p *program) examined(ctx context.Context, f mcpFlags, only ...string) ([]examinedServer, error) {
	if f.timeout <= 0 {
		return nil, usage("--timeout: is not more than nothing; say how long each server may take, such as 20s")
	}
	servers, err := p.machine.MCPServers(f.MCPFlags)
	if err != nil {
		return nil, err
	}
	if servers == nil {
		return nil, usage("mcp: no file is named; give one with --mcp, or set %s", host.MCPVariable)
	}
	defer servers.Close()
	names := servers.Names()
	for _, name := range only {
		if !slices.Contains(names, name) {
			return nil, usage("server: there is no %q; there are: %s", domain.Shorten(name, 100), cmp.Or(strings.Join(names, ", "), "none"))
		}
		names = only
	}
	all, answered := make([]examinedServer, len(names)), make(chan string)
	bounded, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	for i, name := range names {
		go func() {
			report, err := servers.Examine(bounded, name)
			all[i] = examinedServer{Report: report}
			if all[i].Server = name; errors.Is(err, context.DeadlineExceeded) {
				all[i].Error = fmt.Sprintf("MCP server %s has not answered within %s; --timeout gives it longer%s", name, f.timeout, servers.LastWords(name))
			} else if err != nil {
				all[i].Error = err.Error()
			}
			answered <- name
		}()
	}
	looks := time.NewTicker(max(f.timeout/10, 1))
	defer looks.Stop()
	for waited, told := slices.Clone(names), 0; len(waited) > 0; {
		select {
		case name := <-answered:
			waited = slices.DeleteFunc(waited, func(other string) bool { return other == name })
		case <-looks.C:
			if told != len(waited) {
				told = len(waited)
				p.say("waiting for %s", strings.Join(waited, ", "))
			}
		}
	}
	return all, ctx.Err()
}

// failedServers is the error where a server or a tool that agents may have is of no use.
func failedServers(all []examinedServer) error {
	for _, s := range all {
		bad := slices.ContainsFunc(s.Tools, func(t mcp.Listed) bool { return t.Allowed && t.Problem != "" })
		if s.Error != "" || bad || len(s.Missing) > 0 {
			return &exitError{code: exitOther}
		}
	}
	return nil
}

func mcpListCommand(p *program) *cobra.Command {
	var f mcpFlags
	command := newCommand("list", "List the tools of all MCP servers, by the names that agents use", `Starts or reaches each server, and lists the tools that agents may have, with the
effect that holds for each: what the file says, or at_most_once, and stricter
where the server itself calls a tool destructive; then its resources and prompts,
which agents do not read. Below it says what is wrong, and of which server or
tool. Exits 1 where a server or a tool is of no use.`, `  starter mcp list
  starter mcp list --json | jq -r '.[].tools[] | select(.allowed).name'`, func(ctx context.Context, _ []string) error {
		all, err := p.examined(ctx, f)
		if err != nil {
			return err
		}
		t := render.Table{Head: []string{"NAME", "EFFECT", "DESCRIPTION"}}
		var below strings.Builder
		for _, s := range all {
			tell := func(name string, said ...string) {
				for _, one := range said {
					below.WriteString(name + ": " + render.OneLine(one) + "\n")
				}
			}
			if s.Error != "" {
				tell(s.Server, s.Error)
			}
			tell(s.Server, slices.Concat(s.Notes, s.Problems)...)
			for _, one := range s.Tools {
				if !one.Allowed {
					continue
				}
				if one.Problem != "" {
					tell(one.Name, "of no use: "+one.Problem)
					continue
				}
				t.Rows = append(t.Rows, []string{one.Name, string(one.Effect), render.OneLine(firstLine(one.Description))})
				for _, lost := range one.Unchecked {
					tell(one.Name, "not checked: "+lost)
				}
			}
			for _, name := range s.Missing {
				tell(name, noSuchTool)
			}
			for what, offer := range s.offered() {
				t.Rows = append(t.Rows, []string{render.OneLine(s.Server + " " + what + " " + cmp.Or(offer.URI, offer.Name)), "-", render.OneLine(firstLine(cmp.Or(offer.Description, offer.Name)))})
			}
		}
		shown := below.String()
		if len(t.Rows) > 0 {
			shown = t.Render(p.out) + shown
		} else if shown == "" && !p.flags.json {
			p.say("the servers have no tools")
		}
		return cmp.Or(p.show(all, shown), failedServers(all))
	})
	f.register(command.Flags(), 20*time.Second)
	return command
}

// noSuchTool is what is said of a tool that only the file has.
const noSuchTool = "is in the file, and the server has no such tool"

// offered is what a server has beside tools, each with what it is.
func (s examinedServer) offered() iter.Seq2[string, mcp.Offer] {
	return func(yield func(string, mcp.Offer) bool) {
		for _, list := range []struct {
			what   string
			offers []mcp.Offer
		}{{"resource", s.Resources}, {"template", s.Templates}, {"prompt", s.Prompts}} {
			for _, offer := range list.offers {
				if !yield(list.what, offer) {
					return
				}
			}
		}
	}
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return domain.Shorten(line, 200)
}

func mcpCheckCommand(p *program) *cobra.Command {
	var f mcpFlags
	var model string
	command := newCommand("check SERVER", "Start or reach an MCP server: what it has, and what is wrong", `Says what an MCP server is, what it offers, and of each tool its name, its
effect, whether agents may have it, and what is wrong with it; its resources and
prompts, which agents do not read. With --model it says too what that model's API
does not take of their schemas, and is told in words: calls are checked
against the whole all the same. Exits 1 where the server, or a tool that agents
may have, is of no use.`, `  starter mcp check files
  starter mcp check files --model gemini/gemini-3-pro
  starter mcp check files --json | jq '.tools[] | select(.problem)'`, func(ctx context.Context, args []string) error {
		var config domain.LLMConfig
		if model != "" {
			var err error
			if config, err = local.ReadModel("model", model); err != nil {
				return err
			}
			if known := host.ProviderNames(); !slices.Contains(known, config.Provider) {
				return usage("model: there is no provider %q; there are: %s", config.Provider, strings.Join(known, ", "))
			}
		}
		all, err := p.examined(ctx, f, args[0])
		if err != nil {
			return err
		}
		server := all[0]
		server.Rewritten = map[string][]string{}
		for _, t := range server.Tools {
			if taken := host.ToolSchema(config.Provider); taken != nil && t.Allowed && t.Problem == "" {
				if _, said := taken(t.Schema); len(said) > 0 {
					server.Rewritten[t.Name] = said
				}
			}
		}
		return cmp.Or(p.show(server, checkedServer(server)), failedServers(all))
	})
	f.register(command.Flags(), 2*time.Minute) // a package manager may have to fetch it first
	command.Flags().StringVar(&model, "model", "", "`PROVIDER/MODEL`: say what its API does not take of the tools' schemas")
	completeWith(command, "model", completeModels)
	return command
}

func checkedServer(s examinedServer) string {
	var b strings.Builder
	line := func(format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		inner := strings.TrimLeft(text, " ")
		b.WriteString(text[:len(text)-len(inner)] + render.OneLine(inner) + "\n")
	}
	for _, note := range s.Notes {
		line("%s: %s", s.Server, note)
	}
	if s.Error != "" {
		line("%s: %s", s.Server, s.Error)
	}
	if s.Protocol == "" {
		return b.String()
	}
	line("%s: %s %s, protocol %s, offers %s", s.Server, cmp.Or(s.Title, "it does not say what it is"), s.Version, s.Protocol, cmp.Or(strings.Join(s.Offers, ", "), "nothing"))
	for _, t := range s.Tools {
		said := string(t.Effect)
		if t.Configured != "" {
			said += fmt.Sprintf(" (configured %s; the server calls it destructive)", t.Configured)
		}
		if !t.Allowed {
			said = "not for agents: the file does not list it"
		}
		if t.Problem != "" {
			said += "; of no use: " + t.Problem
		}
		line("  %s: %s", t.Name, said)
		for _, lost := range t.Unchecked {
			line("    not checked: %s", lost)
		}
		for _, said := range s.Rewritten[t.Name] {
			line("    for the model: %s", said)
		}
	}
	for what, offer := range s.offered() {
		line("  %s %s", what, render.Joined(", ", offer.Name, offer.URI, offer.MediaType))
	}
	for _, problem := range s.Problems {
		line("  %s", problem)
	}
	for _, name := range s.Missing {
		line("  %s: %s", name, noSuchTool)
	}
	return b.String()
}
