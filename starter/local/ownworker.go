package local

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"everstep/activities/files"
	"everstep/activities/modelfacts"
	"everstep/activities/openai"
	"everstep/activities/scripted"
	"everstep/domain"
	"everstep/domain/enum"
	"everstep/domain/spelling"
	"everstep/worker/host"
)

// CheckLocally says what our worker would of model and tools, and of what may be used, before it is started.
func (m *Machine) CheckLocally(ctx context.Context, f Flags, d domain.Definition, budget domain.ExecutionBudget) error {
	_, own, err := m.ownWorker(f)
	if err != nil || !own {
		return err
	}
	if d.Model.Provider == "" { // a session has one, of which its own worker knows
		return m.checkTools(f, d.Tools)
	}
	return cmp.Or(checkModel(ctx, d.Model), m.checkTools(f, d.Tools), m.checkAllowed(f, d), checkOwnWorker(d), m.checkCost(d.Model, budget))
}

// DoubtedTools says of tools that a worker of this program would refuse why it would, without refusing them: workers
// of other queues may have them. They are the words of [Machine.CheckLocally].
func (m *Machine) DoubtedTools(tools []string) (doubts []string) {
	for _, err := range m.toolProblems(Flags{}, tools) {
		doubts = append(doubts, err.Error())
	}
	return doubts
}

// WorkerTools are the tools that agents of its worker may have: of the worker that is up, which is noted where it lacks some of
// those that a worker of this command would have, else of such a worker.
func (m *Machine) WorkerTools() (tools WorkerTools, note string) {
	own := m.ownTools("")
	holder, served := m.holder(Flags{})
	if !served || holder.All == nil {
		return own, ""
	}
	lacks := slices.DeleteFunc(own.All, func(name string) bool { return slices.Contains(holder.All, name) })
	if len(lacks) > 0 {
		note = fmt.Sprintf("the worker that process %d runs has no %s; start that anew where this command's environment names them", holder.PID, strings.Join(lacks, ", "))
	}
	return holder.WorkerTools, note
}

// ownTools are those of a worker that this command would start for a folder: those that it has turned on, and of the MCP servers
// that it would be told of.
func (m *Machine) ownTools(dir string) (tools WorkerTools) {
	on := m.Env.list(variableBuiltinTools)
	allow, err := host.Allowed(m.Env)
	tools.All = slices.DeleteFunc(BuiltinNames(), func(name string) bool {
		return slices.Contains(host.OptionalNames(), name) && !slices.Contains(on, name) || err == nil && !allow.Tool(name)
	})
	config, _ := m.mcpConfig(MCPFlags{dir: dir})
	servers, _ := config.MCPServers() // whoever starts the worker is told what is wrong with its folder and the file
	for _, s := range servers {
		all := domain.AllToolsOf(s.Name)
		if tools.All = append(tools.All, all); s.Disabled || s.Problem != "" {
			tools.Unstarted = append(tools.Unstarted, all)
		}
	}
	return tools
}

// ModelNames are what words for models in other tools' files stand for, in lower case: WORD=PROVIDER/MODEL, with commas.
func (m *Machine) ModelNames() (map[string]string, error) {
	names := map[string]string{}
	for _, pair := range m.Env.list(VariableModels) {
		word, model, _ := strings.Cut(pair, "=")
		if _, err := ReadModel(VariableModels, model); err != nil || word == "" {
			return nil, invalid("%s: %q is no WORD=PROVIDER/MODEL; write it like sonnet=openai/gpt-5-mini, with commas between several", VariableModels, domain.Shorten(pair, 100))
		}
		names[strings.ToLower(strings.TrimSpace(word))] = model
	}
	return names, nil
}

// checkCost refuses to limit the cost of what has no price, here or on our worker. One that is
// up may have another file of prices: then it is named to this command too.
func (m *Machine) checkCost(model domain.LLMConfig, budget domain.ExecutionBudget) error {
	limit := budget.MaxCostNanoUSD
	if limit == nil || *limit == 0 || model.Price != nil {
		return nil
	}
	table := modelfacts.Builtin()
	if file := m.Env.file(VariablePrices); file != "" {
		var err error
		if table, err = table.With(file); err != nil {
			return invalid("%s: %s", VariablePrices, err)
		}
	}
	if known, _ := table.Find(model.Provider, model.Model, true); known.Price == nil {
		return invalid("max_cost: nobody knows what %s costs; give its price with --price, in the agent's file or in %s, or leave the limit out",
			model, VariablePrices)
	}
	return nil
}

// BuiltinTools are those that the workers of this program have, or can have.
func BuiltinTools() []domain.ToolSpec {
	var specs []domain.ToolSpec
	for _, t := range new(files.Root).Tools() {
		specs = append(specs, t.Spec())
	}
	return append(specs, host.OptionalTools()...)
}

// BuiltinNames are the names of [BuiltinTools].
func BuiltinNames() []string {
	var names []string
	for _, spec := range BuiltinTools() {
		names = append(names, spec.Name)
	}
	return names
}

// checkTools says at once what a worker of this program would say of tools.
func (m *Machine) checkTools(f Flags, tools []string) error {
	return cmp.Or(m.toolProblems(f, tools)...)
}

// toolProblems are all that such a worker would say, once for those that are like nothing. One that is up may have others
// turned on than this command's environment.
func (m *Machine) toolProblems(f Flags, tools []string) (problems []error) {
	on, by := m.Env.list(variableBuiltinTools), "this command starts; to turn it on set"
	if holder, served := m.holder(f); served {
		on, by = holder.Tools, fmt.Sprintf("process %d runs; to turn it on start that anew with", holder.PID)
	}
	off := func(name string) bool {
		return on != nil && !slices.Contains(on, name) && slices.Contains(host.OptionalNames(), name) // nil: the other does not say
	}
	known := BuiltinNames()
	worker, _ := m.WorkerTools()
	// All tools of a server are one name: it alone knows whether it has one.
	known = append(known, slices.DeleteFunc(worker.All, func(name string) bool { return slices.Contains(known, name) })...)
	var offered, more, unknown []string
	for _, name := range known {
		if off(name) {
			more = append(more, name)
		} else {
			offered = append(offered, name)
		}
	}
	for _, name := range tools {
		switch near, ok := spelling.Nearest(name, known); {
		case off(name):
			problems = append(problems, invalid("tool: %s is off on the worker that %s %s=%s",
				name, by, variableBuiltinTools, strings.Join(append(slices.Clone(on), name), ",")))
		case domain.NamesTool(known, name):
		case ok:
			problems = append(problems, invalid("tool: there is no %q; did you mean %s?", domain.Shorten(name, 100), near))
		default:
			unknown = append(unknown, strconv.Quote(domain.Shorten(name, 100)))
		}
	}
	if len(unknown) == 0 {
		return problems
	}
	there := strings.Join(offered, ", ")
	if len(more) > 0 {
		there += "; " + strings.Join(more, ", ") + " can be turned on with " + variableBuiltinTools
	}
	return append(problems, invalid("tool: there is no %s; there are %s; others are on workers of your own: name their --task-queue",
		domain.Shorten(strings.Join(unknown, ", "), 500), there))
}

// checkAllowed says what the worker of this command would refuse of an agent; what brings it
// up says itself what is wrong with what it is to allow. One that is up may allow more.
func (m *Machine) checkAllowed(f Flags, d domain.Definition) error {
	allow, err := host.Allowed(m.Env)
	if _, served := m.holder(f); err != nil || served {
		return nil
	}
	const mend = "; EVERSTEP_ALLOW_%s says so to the worker that this command starts"
	if err := allow.Model(d.Model); err != nil {
		return invalid("%s"+mend, err, "MODELS")
	}
	for _, name := range d.Tools {
		// Of all tools of a server an agent gets those that the worker runs.
		if _, all := domain.ServerOfAll(name); !all && !allow.Tool(name) {
			return invalid("tool: this worker does not run %s"+mend, name, "TOOLS")
		}
	}
	return nil
}

// holder is the process of ours whose worker is up where this command would have one, if one is.
func (m *Machine) holder(f Flags) (by holder, served bool) {
	queue, err := m.Env.taskQueue(f.TaskQueue)
	file, noFile := m.knownStateFile()
	if err != nil || noFile != nil {
		return by, false
	}
	return queueHolder(file, queue)
}

// checkOwnWorker says what our worker has not, whatever a definition asks for.
func checkOwnWorker(d domain.Definition) error {
	const elsewhere = "; run a worker of your own that has it, and name its --task-queue"
	if len(d.Hooks) > 0 {
		return invalid("hooks: the worker that this command starts has none, and the agent uses %q%s", domain.Shorten(d.Hooks[0], 100), elsewhere)
	}
	if !d.Compiler.Builtin() {
		return invalid("compiler: the worker that this command starts has no %q, only %s%s", d.Compiler, enum.Names(domain.Compilers(), ", "), elsewhere)
	}
	return nil
}

// ModelForm says how a model is named.
const ModelForm = "write it as PROVIDER/MODEL, such as " + openai.Name + "/gpt-5-mini or " + scripted.Name + "/FILE.yaml"

// ReadModel reads a model's full name; named says where it was given. The file
// of a script becomes absolute, since workers have other current directories.
func ReadModel(named, text string) (none domain.LLMConfig, _ error) {
	provider, model, ok := strings.Cut(text, "/")
	if !ok || provider == "" || strings.TrimSpace(model) == "" || strings.ContainsFunc(text, unicode.IsControl) {
		return none, invalid("%s: %q is no model; %s", named, domain.Shorten(text, 100), ModelForm)
	}
	if provider == scripted.Name {
		path, err := filepath.Abs(model)
		if err != nil {
			return none, invalid("%s: %q: %s; give the script's full path", named, model, err)
		}
		model = path
	}
	return domain.LLMConfig{Provider: provider, Model: model}, nil
}

// checkModel is without keys: a worker that is up may have others than this process.
func checkModel(ctx context.Context, model domain.LLMConfig) error {
	if model.Provider == scripted.Name {
		if err := scripted.New().Check(ctx, model); err != nil {
			return invalid("model: %s", err)
		}
		return nil
	}
	known := host.ProviderNames()
	if slices.Contains(known, model.Provider) {
		return nil
	}
	text := fmt.Sprintf("model: there is no provider %q; there are %s", domain.Shorten(model.Provider, 100), strings.Join(known, ", "))
	if near, ok := spelling.Nearest(model.Provider, known); ok {
		text += fmt.Sprintf("; did you mean %s/%s?", near, model.Model)
	}
	return invalid("%s", text)
}
