package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/starter/local"
	"everstep/starter/render"
	"everstep/worker/host"
)

func TestCommandLineThatIsWrong(t *testing.T) {
	t.Parallel()
	const model = "openai-chat/m"
	tests := map[string]struct {
		args  []string
		in    string
		env   map[string]string
		says  string
		never string
	}{
		"unknown command":               {args: []string{"staus", "x"}, says: "\"staus\" is not a command; did you mean `starter status`?"},
		"flags that exclude each other": {args: []string{"export", "n", "--session", "--execution", "1"}, says: "--session, --execution: exclude each other; give one of them"},
		"unknown command after flags":   {args: []string{"--state", "f", "--json", "lst"}, says: "did you mean `starter list`?"},
		"nothing like a command":        {args: []string{"frobnicate"}, says: "`starter --help` lists"},
		"unknown flag":                  {args: []string{"run", "--modle", "x", "hi"}, says: "--modle: there is no such flag; did you mean --model?"},
		"nothing like a flag":           {args: []string{"run", "--frobnicate", "hi"}, says: "--frobnicate: there is no such flag; `starter run --help`"},
		"prompt with a dash":            {args: []string{"run", "-x"}, says: "goes after --"},
		"flag without its value":        {args: []string{"run", "hi", "--model"}, says: "--model: needs a value"},
		"flag that is not a switch":     {args: []string{"list", "--json=perhaps"}, says: `--json: "perhaps" is neither true nor false`},

		"no prompt":            {args: []string{"run", "--model", model}, says: "prompt: is missing"},
		"empty prompt":         {args: []string{"run", "--model", model, ""}, says: "prompt: is empty"},
		"blank prompt":         {args: []string{"start", "--model", model, " \n\t"}, says: "prompt: is empty"},
		"prompt in words":      {args: []string{"run", "--model", model, "say", "hello"}, says: `"hello": is one argument too many; put texts in quotes`},
		"prompt not UTF-8":     {args: []string{"run", "--model", model, "a\xff"}, says: "prompt: "},
		"prompt too long":      {args: []string{"run", "--model", model, "-"}, in: strings.Repeat("x", domain.MaxMessage+1), says: "prompt: standard input has more than 1000000 bytes"},
		"empty standard input": {args: []string{"run", "--model", model, "-"}, says: "prompt: is empty"},
		"system prompt too long": {
			args: []string{"run", "--model", model, "--system", strings.Repeat("x", domain.MaxSystemPrompt+1), "hi"}, says: "system prompt: ",
		},

		"no model":            {args: []string{"run", "hi"}, says: "model: is missing; name one with --model or EVERSTEP_MODEL"},
		"model without name":  {args: []string{"run", "--model", "openai-chat", "hi"}, says: `model: "openai-chat" is no model`},
		"model without end":   {args: []string{"run", "--model", "openai-chat/", "hi"}, says: `model: "openai-chat/" is no model`},
		"model of a line end": {args: []string{"start", "--model", "openai/\n", "hi"}, says: `model: "openai/\n" is no model`},
		"blank model":         {args: []string{"send", "notes", "--model", "openai/ ", "hi"}, says: `model: "openai/ " is no model`},
		"a tool twice":        {args: []string{"run", "--model", model, "--tool", "read_file", "--tool", "list_files,read_file", "hi"}, says: `--tool: "read_file" is named twice`},
		"a tool that is off":  {args: []string{"run", "--model", model, "--tool", "http_post", "hi"}, env: map[string]string{"EVERSTEP_BUILTIN_TOOLS": "http_get"}, says: "tool: http_post is off on the worker that this command starts; to turn it on set EVERSTEP_BUILTIN_TOOLS=http_get,http_post"},
		"a tool allowed that is none": {
			args: []string{"run", "--model", model, "--tool", "list_files", "hi"}, env: map[string]string{"EVERSTEP_ALLOW_TOOLS": "lst_files"},
			says: `--allow-tools (EVERSTEP_ALLOW_TOOLS): there is no "lst_files"; the tools are: `,
		},
		"a tool that is not allowed": {
			args: []string{"run", "--model", model, "--tool", "list_files", "hi"}, env: map[string]string{"EVERSTEP_ALLOW_TOOLS": "none"},
			says: "tool: this worker does not run list_files; EVERSTEP_ALLOW_TOOLS says so",
		},
		"a model that is not allowed": {
			args: []string{"run", "--model", model, "hi"}, env: map[string]string{"EVERSTEP_ALLOW_MODELS": "none"},
			says: "model: this worker does not ask openai-chat/m; it asks none; EVERSTEP_ALLOW_MODELS says so",
		},
		"a namespace alone":   {args: []string{"list", "--namespace", "nope"}, says: "namespace: the dev server has none but default; name the server of nope with --address or TEMPORAL_ADDRESS"},
		"model from variable": {args: []string{"run", "hi"}, env: map[string]string{local.VariableModel: "x"}, says: `EVERSTEP_MODEL: "x" is no model`},
		"unknown provider":    {args: []string{"run", "--model", "openai-chatt/m", "hi"}, says: "did you mean openai-chat/m?"},
		"foreign provider":    {args: []string{"start", "--model", "nobody/m", "hi"}, says: "there is no provider \"nobody\"; there are " + strings.Join(host.ProviderNames(), ", ")},
		"missing script":      {args: []string{"run", "--model", "scripted/none.yaml", "hi"}, says: "none.yaml: there is no such file"},

		"id with a space":   {args: []string{"status", "a b"}, says: "id: has ' ' at byte 1"},
		"id with a slash":   {args: []string{"run", "--model", model, "--id", "a/b", "hi"}, says: "id: has '/' at byte 1"},
		"id like a UUID":    {args: []string{"close", "urn:uuid:6ba7b810-9dad-11d1-80b4-00c04fd430c8"}, says: "id: "},
		"no id":             {args: []string{"result"}, says: "id: is missing; write it as in: starter result notes"},
		"no message":        {args: []string{"send", "notes"}, says: "message: is missing"},
		"blank message":     {args: []string{"send", "notes", " "}, says: "prompt: is empty"},
		"argument too many": {args: []string{"list", "x"}, says: "`starter list` takes no argument"},

		"negative steps":      {args: []string{"run", "--model", model, "--max-steps", "-1", "hi"}, says: `--max-steps: "-1" is negative`},
		"steps in words":      {args: []string{"run", "--model", model, "--max-steps", "ten", "hi"}, says: `--max-steps: "ten" is no whole number`},
		"fraction of a token": {args: []string{"run", "--model", model, "--max-tokens", "1.5", "hi"}, says: `--max-tokens: "1.5" is no whole number`},
		"too many tokens":     {args: []string{"run", "--model", model, "--max-tokens", "9223372036854775808", "hi"}, says: "--max-tokens: \"9223372036854775808\" is out of range"},
		"negative tool calls": {args: []string{"send", "notes", "--max-tool-calls=-2", "hi"}, says: `--max-tool-calls: "-2" is negative`},
		"seconds not a number": {
			args: []string{"run", "--model", model, "--max-seconds", "NaN", "hi"}, says: `--max-seconds: "NaN" is no number of seconds`,
		},
		"endless seconds":      {args: []string{"run", "--model", model, "--max-seconds", "Inf", "hi"}, says: `--max-seconds: "Inf" is out of range`},
		"too many seconds":     {args: []string{"run", "--model", model, "--max-seconds", "1e400", "hi"}, says: `--max-seconds: "1e400" is out of range`},
		"negative seconds":     {args: []string{"run", "--model", model, "--max-seconds=-0.5", "hi"}, says: `--max-seconds: "-0.5" is negative`},
		"negative money":       {args: []string{"run", "--model", model, "--max-cost=-1", "hi"}, says: `--max-cost: "-1" is negative`},
		"money with a comma":   {args: []string{"run", "--model", model, "--max-cost", "1,50", "hi"}, says: `--max-cost: "1,50" has a comma`},
		"money with an e":      {args: []string{"send", "notes", "--max-cost", "1e2", "hi"}, says: `--max-cost: "1e2" is no sum of money`},
		"money too fine":       {args: []string{"extend", "notes", "--max-cost", "0.0000000001"}, says: "has more than 9 decimals"},
		"too much money":       {args: []string{"extend", "notes", "--max-cost", "9223372037"}, says: "is too much; give at most 9223372036.854775807 dollars"},
		"price without output": {args: []string{"run", "--model", model, "--price", "input=1", "hi"}, says: "--price: \"input=1\" needs both input and output"},
		"price of what":        {args: []string{"run", "--model", model, "--price", "inptu=1,output=2", "hi"}, says: `names "inptu", which is none of input, output, cache_read, cache_write`},
		"price twice":          {args: []string{"run", "--model", model, "--price", "input=1,input=2,output=2", "hi"}, says: "names input twice"},
		"price not a number":   {args: []string{"run", "--model", model, "--price", "input=1,output=x", "hi"}, says: "has output=x, which is no sum of money"},
		"price in wrong units": {args: []string{"run", "--model", model, "--price", "input=1,output=2000000", "hi"}, says: "is not in dollars for a million tokens"},
		"cost of no price":     {args: []string{"run", "--model", model, "--max-cost", "1", "hi"}, says: "max_cost: nobody knows what openai-chat/m costs; give its price with --price"},
		"cost of no new price": {args: []string{"send", "notes", "--model", model, "--max-cost", "1", "hi"}, says: "max_cost: nobody knows what openai-chat/m costs"},
		"price of no model":    {args: []string{"send", "notes", "--price", "input=1,output=2", "hi"}, says: "--price: is given without a model; name one with --model"},
		"window of no model":   {args: []string{"send", "notes", "--context-window", "9000", "hi"}, says: "--context-window: is given without a model; name one with --model"},
		"window of nothing":    {args: []string{"run", "--model", model, "--context-window", "0", "hi"}, says: `--context-window: "0" is no whole number from 1 to 1000000000`},
		"price without model":  {args: []string{"run", "--id", "notes", "--price", "input=1,output=2", "hi"}, says: "--price: is given without a model"},
		"no schema file":       {args: []string{"run", "--model", model, "--output", "none.json", "hi"}, says: "--output: none.json: there is no such file"},
		"schema is a folder":   {args: []string{"run", "--model", model, "--output", ".", "hi"}, says: "--output: .: "},
		"mode without schema":  {args: []string{"run", "--model", model, "--output-mode", "tool", "hi"}, says: "--output-mode: is given without a schema"},
		"unknown output mode":  {args: []string{"start", "--model", model, "--output-mode", "xml", "hi"}, says: `--output-mode: "xml" is none of native, tool, instruction`},
		"steps of no number":   {args: []string{"extend", "notes", "--max-steps", "never"}, says: `--max-steps: "never" is no whole number`},
		"extend without id":    {args: []string{"extend", "--max-steps", "4"}, says: "id: is missing; write it as in: starter extend notes"},
		"pause without id":     {args: []string{"pause"}, says: "id: is missing; write it as in: starter pause notes"},
		"deadline in the past": {args: []string{"run", "--model", model, "--deadline", "2030-01-31T11:59:59Z", "hi"}, says: "is in the past"},
		"deadline behind":      {args: []string{"run", "--model", model, "--deadline=-5s", "hi"}, says: "is in the past"},
		"deadline in words":    {args: []string{"run", "--model", model, "--deadline", "tomorrow", "hi"}, says: `--deadline: "tomorrow" is neither a time nor a duration`},

		"a note without =":       {args: []string{"run", "--model", model, "--metadata", "ticket", "hi"}, says: `--metadata: "ticket" has no key before a =; write it as key=value`},
		"a note twice":           {args: []string{"start", "--model", model, "--metadata", "a=1", "--metadata", "a=2", "hi"}, says: `--metadata: "a=2" names a twice`},
		"a note not UTF-8":       {args: []string{"send", "notes", "--metadata", "a=\xff", "hi"}, says: `is not valid UTF-8; convert it`},
		"a note of two lines":    {args: []string{"send", "notes", "--metadata", "a\nb=c", "hi"}, says: `metadata: "a\nb" is no key`},
		"a value without =":      {args: []string{"run", "--model", model, "--with", "customer", "hi"}, says: `--with: "customer" has no name before a =; write it as name=value, or name:=JSON`},
		"a value of no name":     {args: []string{"run", "--model", model, "--with", ":=1", "hi"}, says: `--with: ":=1" has no name before a =`},
		"a value twice":          {args: []string{"start", "--model", model, "--with", "a=1", "--with", "a:=1", "hi"}, says: `--with: "a:=1" names a twice`},
		"a value not UTF-8":      {args: []string{"send", "notes", "--with", "a=\xff", "hi"}, says: `is not valid UTF-8; convert it`},
		"a value of a bad name":  {args: []string{"send", "notes", "--with", "Customer=1", "hi"}, says: `trusted: "Customer" is no name; use 1 to 64 of a-z, 0-9 and _`},
		"a value of no JSON":     {args: []string{"run", "--model", model, "--with", "a:={", "hi"}, says: `trusted.a: is not valid JSON`},
		"a value with a key":     {args: []string{"run", "--model", model, "--with", `a:={"b":1,"b":2}`, "hi"}, says: `trusted.a: has the key "b" twice`},
		"a value that is huge":   {args: []string{"run", "--model", model, "--with", "a=" + strings.Repeat("x", domain.MaxTrusted), "hi"}, says: "trusted: takes 16392 bytes; at most 16384 fit"},
		"no messages file":       {args: []string{"run", "--model", model, "--messages", "none.jsonl", "hi"}, says: "--messages: none.jsonl: there is no such file"},
		"messages are a folder":  {args: []string{"run", "--model", model, "--messages", ".", "hi"}, says: "--messages: .: is no plain file; put the messages in one"},
		"messages of nothing":    {args: []string{"start", "--model", model, "--messages", "-", "hi"}, says: "--messages: -: there are no messages in it"},
		"messages of no role":    {args: []string{"send", "notes", "--messages", "-", "hi"}, in: "\n{\"parts\": []}", says: "--messages: -: line 2: role: "},
		"messages and prompt":    {args: []string{"run", "--model", model, "--messages", "-", "-"}, in: "x", says: "standard input can be the messages or the prompt, not both"},
		"a state of no agent":    {args: []string{"run", "--messages", "-", "hi"}, in: `{"schema_version": 1}`, says: "--messages: -: agent_id: is missing"},
		"a newer state":          {args: []string{"run", "--messages", "-", "hi"}, in: `{"schema_version": 9}`, says: "schema_version: is 9, written by a build that it does not name, and this build reads 1; read it with the build that wrote it"},
		"a state of a text":      {args: []string{"run", "--messages", "-", "hi"}, in: `{"schema_version": "2"}`, says: `--messages: -: schema_version: is "2", which no build writes, and this build reads 1; give it as it was written`},
		"a state of null":        {args: []string{"run", "--messages", "-", "hi"}, in: `{"agent_id": "a", "schema_version": null}`, says: "schema_version: is null, which no build writes"},
		"a state of zero":        {args: []string{"run", "--messages", "-", "hi"}, in: `{"schema_version": 0}`, says: "schema_version: is 0, which no build writes"},
		"a state of a build 7":   {args: []string{"run", "--messages", "-", "hi"}, in: `{"schema_version": 2, "build": 7}`, says: "is 2, written by a build that it does not name"},
		"a state of many lines":  {args: []string{"run", "--messages", "-", "hi"}, in: `{"schema_version": 2, "build": "a\nb"}`, says: "is 2, written by build a b, and"},
		"a state that is cut":    {args: []string{"run", "--messages", "-", "hi"}, in: `{"schema_version": 1, "agent_`, says: "--messages: -: is no whole saved state: it was cut off, or something follows it; give one as it was written"},
		"a state twice":          {args: []string{"run", "--messages", "-", "hi"}, in: savedState("", "") + savedState("", ""), says: "is no whole saved state"},
		"an exported file":       {args: []string{"run", "--messages", "-", "hi"}, in: `{"format":"everstep-records","schema_version":1,"records":0}` + "\n", says: "--messages: -: is a file of export; import it, and fork from its agent"},
		"a compressed export":    {args: []string{"run", "--messages", "-", "hi"}, in: "\x28\xb5\x2f\xfd\x00", says: "is a file of export; import it"},
		"a state that runs":      {args: []string{"run", "--messages", "-", "hi"}, in: savedState(`"execution": {"execution_id": "`+someID+`", "status": "in_progress"}, `, ""), says: "--messages: -: state: execution 0 is in progress"},
		"a state of half a call": {args: []string{"run", "--messages", "-", "hi"}, in: savedState("", `{"role": "assistant", "tool_calls": [{"id": "a"}]}`), says: `messages[0].tool_calls: call "a" has no result`},
		"a state without model":  {args: []string{"run", "--messages", "-", "hi"}, in: savedState("", ""), says: "model: is missing"},
		"a state for a session":  {args: []string{"send", "notes", "--messages", "-", "hi"}, in: savedState("", ""), says: "is a saved state, with which an agent begins"},

		"unknown mode":         {args: []string{"stop", "notes", "--mode", "nwo"}, says: `--mode: "nwo" is none of after_step, after_inference, now`},
		"negative within":      {args: []string{"stop", "notes", "--within=-3s"}, says: `--within: "-3s" is negative`},
		"within without unit":  {args: []string{"stop", "notes", "--within", "30"}, says: `--within: "30" is no duration`},
		"execution zero":       {args: []string{"steps", "notes", "--execution", "0"}, says: `--execution: "0" is no whole number from 1`},
		"port too high":        {args: []string{"dev", "--port", "70000"}, says: `--port: "70000" is no whole number from 1 to 65535`},
		"no such folder":       {args: []string{"run", "--model", model, "--dir", "/nowhere/at/all", "hi"}, says: "dir: there is no folder /nowhere/at/all"},
		"folder from variable": {args: []string{"dev"}, env: map[string]string{local.VariableDir: "/nowhere"}, says: "EVERSTEP_DIR: there is no folder /nowhere"},
		"dev elsewhere":        {args: []string{"dev", "--address", "a:1"}, says: "dev runs a server of its own"},
		"address without port": {args: []string{"list", "--address", "nope"}, says: `--address: "nope" is not host:port`},
		"unknown status":       {args: []string{"list", "--status", "bogus"}, says: `--status: "bogus" is none of in_progress, paused, stopping, idle, suspended, completed, stopped, failed`},
		"unknown status too":   {args: []string{"list", "--status", "failed, bogus"}, says: `--status: "failed, bogus" has "bogus", which is none of in_progress`},
		"unknown column":       {args: []string{"list", "--columns", "ids"}, says: `--columns: "ids" is none of id, status`},
		"schedule as it was":   {args: []string{"schedule", "update", "digest"}, says: "nothing is given to change; give a prompt, or flags such as --cron"},
		"update of what":       {args: []string{"schedule", "update", "--every", "1h"}, says: "name: is missing; write it as in: starter schedule update digest"},
		"update to nothing":    {args: []string{"schedule", "update", "digest", ""}, says: "prompt: is empty"},
		"update by too many":   {args: []string{"schedule", "update", "digest", "Sum", "up"}, says: `"up": is one argument too many`},
		"no interval":          {args: []string{"schedule", "update", "digest", "--every", "0s"}, says: `--every: "0s" is no interval`},
		"no end":               {args: []string{"schedule", "update", "digest", "--end-at", "never"}, says: `--end-at: "never" is no time; write it like 2030-01-31T12:00:00Z, or none`},
		"unknown shell":        {args: []string{"completion", "tcsh"}, says: "shell: \"tcsh\" is none of bash, zsh"},

		"a terminal's commands": {args: []string{"run", "--model", "\x1b[31m\u202e/", "hi"}, says: "model: ", never: "\x1b\u202e"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCaller(t)
			c.in = test.in
			for variable, value := range test.env {
				c.variables[variable] = value
			}
			code, stdout, stderr := c.call(t.Context(), test.args...)
			require.Equal(t, exitUsage, code, stderr)
			require.Empty(t, stdout)
			require.Contains(t, stderr, test.says)
			require.True(t, strings.HasPrefix(stderr, "error: "), stderr)
			require.Equal(t, 1, strings.Count(stderr, "\n"), "one line: %s", stderr)
			for _, r := range test.never {
				require.NotContains(t, stderr, string(r))
			}
		})
	}
}

// TestEachCommandSaysWhichArgumentsItTakes, whatever is given: what is too few or too many is told as what it is.
func TestEachCommandSaysWhichArgumentsItTakes(t *testing.T) {
	t.Parallel()
	for _, command := range commandsOf(newRoot(&program{machine: &local.Machine{}})) {
		if command.Args == nil || command.Name() == "help" {
			continue // it takes any
		}
		var given []string
		for range 5 {
			if err := command.Args(command, given); err != nil {
				require.Equal(t, exitUsage, exitCode(err), "%s with %q: %s", command.CommandPath(), given, err)
			}
			given = append(given, "x")
		}
	}
}

const someID = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"

// savedState is one with other keys, and a message where one is given.
func savedState(more, message string) string {
	return `{"schema_version": 1, ` + more + `"agent_id": "` + someID + `", "context": {"message_store": {"sections": [{"name": "messages", "messages": [` + message + `]}]}}}`
}

func TestBrokenScriptIsSaidBeforeAnythingStarts(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "broken.yaml")
	require.NoError(t, os.WriteFile(script, []byte("turns:\n  - text: hi\n    tool_call: []\n"), 0o600))
	c := newCaller(t)
	code, stdout, stderr := c.call(t.Context(), "run", "--model", "scripted/"+script, "hi")
	require.Equal(t, exitUsage, code, stderr)
	require.Empty(t, stdout)
	require.Contains(t, stderr, script+":3")
	require.NoDirExists(t, filepath.Dir(c.variables[local.VariableState])+"/dev.storage")
	require.NoFileExists(t, c.variables[local.VariableState])
}

func TestServerThatIsNotThere(t *testing.T) {
	t.Parallel()
	commands := map[string][]string{
		"status": {"status", "x"}, "steps": {"steps", "x"}, "messages": {"messages", "x"}, "result": {"result", "x"},
		"list": {"list"}, "stop": {"stop", "x"}, "send": {"send", "x", "hi"}, "close": {"close", "x"},
		"extend": {"extend", "x"}, "pause": {"pause", "x"}, "resume": {"resume", "x"},
		"start": {"start", "--model", "openai-chat/m", "hi"},
	}
	for name, args := range commands {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := newCaller(t).call(t.Context(), args...)
			require.Equal(t, exitUnreachable, code, stderr)
			require.Empty(t, stdout)
			require.Contains(t, stderr, "starter dev")
			require.Contains(t, stderr, "--address")
		})
	}
	t.Run("configured", func(t *testing.T) {
		t.Parallel()
		c := newCaller(t)
		c.variables[local.VariableAddress] = "127.0.0.1:1"
		code, _, stderr := c.call(t.Context(), "run", "--model", "openai-chat/m", "hi")
		require.Equal(t, exitUnreachable, code, stderr)
		require.Contains(t, stderr, "127.0.0.1:1")
		require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	})
}

func TestEachCommandIsExplained(t *testing.T) {
	t.Parallel()
	root := newRoot(&program{machine: &local.Machine{}})
	require.NotEmpty(t, root.Example)
	for _, command := range root.Commands() {
		if command.Hidden || command.Name() == "help" {
			continue
		}
		require.NotEmpty(t, command.Short, command.Name())
		require.NotEmpty(t, command.Long, command.Name())
		require.NotEmpty(t, command.GroupID, command.Name())
		requireExamplesFit(t, root, command)
		command.Flags().VisitAll(func(flag *pflag.Flag) { require.NotEmpty(t, flag.Usage, command.Name()+" --"+flag.Name) })
	}
}

// requireExamplesFit checks that the flags of a command's examples exist.
func requireExamplesFit(t *testing.T, root, command *cobra.Command) {
	t.Helper()
	require.Contains(t, command.Example, "starter "+command.Name(), command.Name())
	for example := range strings.Lines(command.Example) {
		_, words, ok := strings.Cut(example, "starter ")
		require.True(t, ok, example)
		words, _, _ = strings.Cut(words, "|")
		shown, _, err := root.Find(strings.Fields(words))
		require.NoError(t, err, example)
		for _, word := range strings.Fields(words) {
			if name, ok := strings.CutPrefix(word, "--"); ok {
				name = strings.Trim(name, `)"`)
				flag := shown.Flags().Lookup(name)
				if flag == nil {
					flag = root.PersistentFlags().Lookup(name)
				}
				require.NotNil(t, flag, "%s: --%s", example, name)
			}
		}
	}
}

func TestHelpAndVersion(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"--help"}, {"run", "--help"}, {"help", "stop"}, {"--version"}} {
		code, stdout, stderr := newCaller(t).call(t.Context(), args...)
		require.Equal(t, exitDone, code, stderr)
		require.Empty(t, stderr)
		require.Contains(t, stdout, "starter")
		require.NotContains(t, stdout, "dev-supervisor")
	}
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		code, stdout, stderr := newCaller(t).call(t.Context(), "completion", shell)
		require.Equal(t, exitDone, code, stderr)
		require.Contains(t, stdout, "starter")
	}
	for args, want := range map[string]string{
		"stop x --mode ":  "after_inference",
		"run --tool ":     "search_files",
		"run --model ":    "scripted/",
		"send x --model ": "openai-chat/",

		"run --output-mode ": "instruction",
		"completion ":        "zsh",
		"list --sched":       "that the schedule of this NAME has begun",
	} {
		code, stdout, _ := newCaller(t).call(t.Context(), append([]string{"__complete"}, strings.Split(args, " ")...)...)
		require.Equal(t, exitDone, code, args)
		require.Contains(t, stdout, want, args)
	}
	// Without a server there are no ids to offer, and no error either.
	code, stdout, _ := newCaller(t).call(t.Context(), "__complete", "status", "")
	require.Equal(t, exitDone, code)
	require.Equal(t, ":4", strings.TrimSpace(stdout))
}

func TestNaughtyIDs(t *testing.T) {
	t.Parallel()
	folder := os.Getenv("EVERSTEP_DATA")
	if folder == "" {
		t.Skip("EVERSTEP_DATA is not set: the naughty strings were not tried")
	}
	data, err := os.ReadFile(filepath.Join(folder, "hostile", "blns", "blns.json"))
	require.NoError(t, err)
	var texts []string
	require.NoError(t, json.Unmarshal(data, &texts))
	require.NotEmpty(t, texts)
	for _, text := range texts {
		code, stdout, stderr := newCaller(t).call(t.Context(), "status", "--", text)
		require.Empty(t, stdout, "%q", text)
		require.Equal(t, render.Clean(stderr), stderr, "nothing harmful is printed")
		require.Contains(t, []int{exitUsage, exitUnreachable}, code, "%q", text)
	}
}
