package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/enum"
	"everstep/starter/client"
	"everstep/starter/help"
	"everstep/starter/local"
	"everstep/starter/render"
	"everstep/worker/host"
)

func TestHelpOfTopics(t *testing.T) {
	t.Parallel()
	code, listed, stderr := newCaller(t).call(t.Context(), "help")
	require.Equal(t, exitDone, code, stderr)
	_, completed, _ := newCaller(t).call(t.Context(), "__complete", "help", "")
	root := newRoot(&program{machine: &local.Machine{}})
	for _, topic := range help.Topics() {
		require.Contains(t, listed, "  "+topic.Name+"  ", "a column")
		require.Contains(t, listed, " "+topic.Title+"\n")
		require.Contains(t, completed, topic.Name+"\t"+topic.Title+"\n")
		code, page, stderr := newCaller(t).call(t.Context(), "help", topic.Name)
		require.Equal(t, exitDone, code, stderr)
		require.Equal(t, topic.Text, page, "raw where nobody is known to read it")
		command, _, err := root.Find([]string{topic.Name})
		require.True(t, err != nil || command == root, "%s is a command too", topic.Name)
	}
	for args, says := range map[string]string{
		"help budgts":     "did you mean `starter help budgets`?",
		"help xtend":      "did you mean `starter help extend`?",
		"help zzzzzz":     "`starter help` lists both",
		"help run faster": "\"run faster\" is neither a topic nor a command",
		"budgets":         "did you mean `starter help budgets`?",
	} {
		code, stdout, stderr := newCaller(t).call(t.Context(), strings.Fields(args)...)
		require.Equal(t, exitUsage, code, args)
		require.Empty(t, stdout, args)
		require.Contains(t, stderr, says, args)
	}
	_, completed, _ = newCaller(t).call(t.Context(), "__complete", "help", "agents", "ch")
	require.Contains(t, completed, "check\t")
	_, deep, _ := newCaller(t).call(t.Context(), "help", "agents", "check")
	require.Contains(t, deep, "starter agents check")
}

// TestHelpOnATerminal: a page is laid out for the terminal's width.
func TestHelpOnATerminal(t *testing.T) {
	t.Parallel()
	topic, ok := help.Named("stops")
	require.True(t, ok)
	for _, width := range []int{60, 100} {
		var written strings.Builder
		out := render.Plain(&written)
		out.Terminal, out.Width = true, func() int { return width }
		require.NoError(t, (&program{out: out}).page(topic))
		page := ansi.Strip(written.String())
		require.NotContains(t, page, "|---|")
		longest := 0
		for line := range strings.Lines(page) {
			longest = max(longest, ansi.StringWidth(strings.TrimSuffix(line, "\n")))
		}
		require.Equal(t, width, longest)
	}
}

// manuals are the documents that users read, by their names.
func manuals(t *testing.T) map[string]string {
	t.Helper()
	readme, err := os.ReadFile(filepath.Join("..", "README.md"))
	require.NoError(t, err)
	all := map[string]string{"README.md": string(readme)}
	for _, topic := range help.Topics() {
		all["help "+topic.Name] = topic.Text
	}
	return all
}

// commandsOf are a command and all below it.
func commandsOf(command *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{command}
	for _, below := range command.Commands() {
		all = append(all, commandsOf(below)...)
	}
	return all
}

func flagsOf(command *cobra.Command) map[string]bool {
	names := map[string]bool{"help": true}
	add := func(flag *pflag.Flag) { names[flag.Name] = true }
	command.Flags().VisitAll(add)
	command.InheritedFlags().VisitAll(add)
	return names
}

var (
	shellBlock = regexp.MustCompile("(?ms)^```sh\n(.*?)^```")
	anyBlock   = regexp.MustCompile("(?ms)^```.*?^```")
	codeSpan   = regexp.MustCompile("`([^`\n]+)`")
)

// TestManualsNameCommandsThatExist: each command line in a manual is one, and
// each flag of ours that is named exists.
func TestManualsNameCommandsThatExist(t *testing.T) {
	t.Parallel()
	root := newRoot(&program{machine: &local.Machine{}})
	root.InitDefaultHelpCmd()
	programs := map[string]*cobra.Command{"starter": root, "worker": host.Command(host.Config{})}
	known := map[string]bool{"name": true, "type": true, "build": true, "detach": true, "reapply-exclude": true} // of Temporal's and Docker's tools
	for _, program := range programs {
		for _, command := range commandsOf(program) {
			for name := range flagsOf(command) {
				known[name] = true
			}
		}
	}
	for manual, text := range manuals(t) {
		for _, block := range shellBlock.FindAllStringSubmatch(text, -1) {
			for line := range strings.Lines(strings.ReplaceAll(block[1], "\\\n", " ")) {
				line = strings.TrimPrefix(strings.TrimPrefix(line, "go run ./"), "bin/")
				words := strings.Fields(strings.SplitN(line, "#", 2)[0])
				if len(words) > 0 && programs[words[0]] != nil {
					requireCommandLine(t, manual, programs[words[0]], words)
				}
			}
		}
		for _, span := range codeSpan.FindAllStringSubmatch(anyBlock.ReplaceAllString(text, ""), -1) {
			words := strings.Fields(span[1])
			if words[0] == "starter" && len(words) > 1 && words[1] != "COMMAND" {
				requireCommandLine(t, manual, root, words)
			}
			for _, word := range words {
				if name, ok := strings.CutPrefix(word, "--"); ok && words[0] != "go" {
					require.True(t, known[name], "%s: %s: there is no flag --%s", manual, span[1], name)
				}
			}
		}
	}
}

func requireCommandLine(t *testing.T, manual string, program *cobra.Command, words []string) {
	t.Helper()
	line := strings.Join(words, " ")
	command, rest, err := program.Find(words[1:])
	require.NoError(t, err, "%s: %s", manual, line)
	known := program.Runnable() && (len(rest) == 0 || strings.HasPrefix(rest[0], "-"))
	require.True(t, command != program || known, "%s: %s", manual, line)
	if command.Name() == "help" && len(words) > 2 && words[2] != "TOPIC" {
		_, ok := help.Named(words[2])
		require.True(t, ok, "%s: %s", manual, line)
	}
	flags := flagsOf(command)
	for _, word := range words {
		if name, ok := strings.CutPrefix(word, "--"); ok {
			require.True(t, flags[name], "%s: %s: there is no flag --%s", manual, line, name)
		}
	}
}

// TestManualsMissNothing: each command, each limit with its stop reason, and each
// flag of a worker, is in the page about it.
func TestManualsMissNothing(t *testing.T) {
	t.Parallel()
	commands, _ := help.Named("commands")
	root := newRoot(&program{machine: &local.Machine{}})
	root.InitDefaultHelpCmd()
	for _, command := range root.Commands() {
		require.True(t, command.Hidden || regexp.MustCompile("[|,] `"+command.Name()+"\\b").MatchString(commands.Text),
			"starter/help/commands.md lacks %s", command.Name())
	}
	budgets, _ := help.Named("budgets")
	for _, rule := range domain.LimitRules() {
		require.Contains(t, budgets.Text, "`--"+rule.Limit.Flag()+"`", "starter/help/budgets.md")
		require.Contains(t, budgets.Text, "`"+string(rule.Reason)+"`", "starter/help/budgets.md")
	}
	configuration, _ := help.Named("configuration")
	worker := flagsOf(host.Command(host.Config{}))
	root.PersistentFlags().VisitAll(func(flag *pflag.Flag) { worker[flag.Name] = true })
	for name := range worker {
		if slices.Contains([]string{"help", "json", "quiet"}, name) {
			continue // none of them configures anything
		}
		require.Contains(t, configuration.Text, "`--"+name+"`", "starter/help/configuration.md")
	}
}

// TestStopsAreInTheOrderThatCounts: the page about stops has all reasons, each with its status, in the order of their ranks.
func TestStopsAreInTheOrderThatCounts(t *testing.T) {
	t.Parallel()
	stops, _ := help.Named("stops")
	var reasons []domain.StopReason
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| .* \\| `([a-z]+)` \\|$").FindAllStringSubmatch(stops.Text, -1) {
		reason := domain.StopReason(row[1])
		reasons = append(reasons, reason)
		want := domain.StatusStopped
		switch {
		case reason == domain.ErrorForbade:
			want = domain.StatusFailed
		case !reason.WasForceStopped():
			want = domain.StatusCompleted
		}
		require.Equal(t, string(want), row[2], reason)
	}
	require.Equal(t, enum.Known[domain.StopReason](), reasons)
}

// TestHelpListsTheKeysOfStatus as the rows have them, of which text and JSON come too.
func TestHelpListsTheKeysOfStatus(t *testing.T) {
	t.Parallel()
	page, _ := help.Named("json")
	_, listed, _ := strings.Cut(page.Text, "| key |")
	listed, _, _ = strings.Cut(listed, "\n\n")
	require.Equal(t, render.StatusKeys(), "| key |"+listed+"\n", "put the first into starter/help/json.md")
}

// TestHelpNamesEachEvent: each type of event has its row.
func TestHelpNamesEachEvent(t *testing.T) {
	t.Parallel()
	page, _ := help.Named("events")
	for _, kind := range append(domain.EventTypes(), client.Moments()...) {
		require.Contains(t, page.Text, "`"+string(kind)+"`")
	}
}

// TestHelpListsTheKeysOfSteps: those of the step's type, and those that --tree adds.
func TestHelpListsTheKeysOfSteps(t *testing.T) {
	t.Parallel()
	page, _ := help.Named("json")
	_, row, _ := strings.Cut(page.Text, "\n| `steps` | ")
	row, _, _ = strings.Cut(row, "\n")
	var listed []string
	for _, quoted := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(row, -1) {
		listed = append(listed, quoted[1])
	}
	var keys []string
	for _, field := range reflect.VisibleFields(reflect.TypeFor[domain.StepExecution]()) {
		if key, _, _ := strings.Cut(field.Tag.Get("json"), ","); key != "" {
			keys = append(keys, key)
		}
	}
	id := domain.AgentID{UUID: uuid.New()}
	below := &client.Tree{Execution: client.Execution{AgentID: id}, ParentAgentID: id, Subagent: "critic", ToolExecutionID: id.Execution("run", 1).Step(1).Tool(0)}
	line, err := domain.Encode(render.TreeStep(client.TreeStep{Agent: below, Step: &domain.StepExecution{}}))
	require.NoError(t, err)
	var encoded map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(line, &encoded))
	for key := range encoded {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	require.ElementsMatch(t, keys, listed)
}

// TestHelpHasTheNameByWhichItWasCalled, and so have the errors that name commands.
func TestHelpHasTheNameByWhichItWasCalled(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"--help"}, {"run", "--help"}, {"completion", "--help"}, {"agents", "check", "--help"}, {"help", "commands"}, {"help", "budgets"},
		{"status"}, {"status", "notes"}, {"staus"}, {"list", "x"}, {"agents", "check"},
	} {
		c := newCaller(t)
		c.name, c.here = "everstep", t.TempDir()
		_, stdout, stderr := c.call(t.Context(), args...)
		require.Contains(t, stdout+stderr, "everstep ", args)
		require.NotRegexp(t, `(^|[ `+"`"+`(<])starter `, stdout+stderr, args)
	}
}

// TestAllOfHelpFitsATerminal: there is nothing that one would break inside a word.
func TestAllOfHelpFitsATerminal(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	fits := render.Plain(&out)
	fits.Width = func() int { return 80 }
	p := &program{machine: &local.Machine{}, out: fits, err: fits}
	root := newRoot(p)
	root.SetOut(fits)
	var show func(*cobra.Command)
	show = func(command *cobra.Command) {
		if !command.Hidden {
			require.NoError(t, command.Help())
		}
		for _, below := range command.Commands() {
			show(below)
		}
	}
	show(root)
	require.Greater(t, strings.Count(out.String(), "\n"), 500)
	for line := range strings.Lines(out.String()) {
		require.LessOrEqual(t, ansi.StringWidth(strings.TrimSuffix(line, "\n")), 80, line)
	}
}

// TestWhoeverAnswersTakesRaw: what a pipe loses is there where it is asked for.
func TestWhoeverAnswersTakesRaw(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"run", "watch", "result", "send", "extend"} {
		_, help, _ := newCaller(t).call(t.Context(), command, "--help")
		require.Contains(t, help, "--raw", command)
	}
}
