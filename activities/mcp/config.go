package mcp

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"everstep/activities/document"
	"everstep/domain"
)

// A Server is one that a file configures: a program to start, or the URL of one that
// runs elsewhere.
type Server struct {
	Name string
	// Command is a program, Args are its arguments, Env is its environment, with what EnvFile has beside it, and Dir where it runs.
	Command string
	Args    []string
	Env     []Variable
	EnvFile string
	Dir     string
	// URL is the endpoint of a server over streamable HTTP, Headers go with each request.
	URL     string
	Headers []Variable
	// OAuth is how a server over HTTP gets a token, where it wants one. Nil: it gets none.
	OAuth *OAuth
	// Effect is that of tools for which Tools says nothing else.
	Effect domain.Effect
	// Tools are the only ones that agents may have, by the server's own names, with
	// what holds for each. Nil: all that it lists.
	Tools map[string]ToolConfig
	// Timeout bounds one attempt of a call. Zero: the agent's own bound.
	Timeout time.Duration
	// Without are tools that agents may not have, by the server's own names or patterns of them.
	Without []string
	// Stateful says that calls depend on earlier ones: each agent has a session of its own, on one worker.
	Stateful bool
	// Inputs are what ${input:ID} stands for, of those that the server names.
	Inputs []Input
	// Disabled says that the file has the server and wants it not started.
	Disabled bool
	// Problem is why the server cannot be started; the others of its file can. Notes say what of its keys
	// does not hold here.
	Problem string
	Notes   []string
}

// An Input is what a file wants a person to be asked for.
type Input struct {
	ID, Description string
	// Password says that it is a secret.
	Password bool
	// Default is what it stands for where nobody says; empty: nobody is asked in vain. A secret has none.
	Default string
}

// A ToolConfig is what holds for one tool. What is zero is the server's.
type ToolConfig struct {
	// Arguments are those that the worker fills in and no model is asked for: each a name
	// with a text in which ${trusted.NAME} stands for a trusted value of the agent.
	Arguments []Variable
	Effect    domain.Effect
	Timeout   time.Duration
}

// An OAuth is this worker as a client of an authorization server, by the grant
// client_credentials: no person is asked.
type OAuth struct {
	// ClientID is how that server knows the worker, Secret proves it.
	ClientID string
	Secret   Variable
	// Issuer is that server: another one, which an MCP server may name, is not sent the
	// secret. Load asks for it; empty, any is.
	Issuer string
}

// variables are all in which secrets are named.
func (s Server) variables() []Variable {
	all := slices.Concat(s.Env, s.Headers)
	if s.OAuth != nil {
		all = append(all, s.OAuth.Secret)
	}
	return all
}

// Secrets are the names of all secrets that the server's configuration names.
func (s Server) Secrets() (names []string) {
	for _, v := range s.variables() {
		names = append(names, v.Names()...)
	}
	return names
}

// allowed says what holds for a tool; ok is false for one that agents may not have.
func (s Server) allowed(tool string) (config ToolConfig, ok bool) {
	config, ok = s.Tools[tool]
	ok = (ok || s.Tools == nil) && !slices.ContainsFunc(s.Without, func(pattern string) bool {
		fits, _ := path.Match(strings.ReplaceAll(pattern, "/", "_"), strings.ReplaceAll(tool, "/", "_")) // a star is for slashes too
		return fits || pattern == tool                                                                   // what is no pattern is a name
	})
	config.Effect = cmp.Or(config.Effect, s.Effect, domain.AtMostOnce)
	config.Timeout = cmp.Or(config.Timeout, s.Timeout)
	return config, ok
}

const (
	maxFile    = 1 << 20
	maxServers = 64
)

// Load reads a file of servers, in JSON, YAML or TOML: as other programs have it, and with keys of our own. It
// asks no server and looks up no secret. Relative paths are from the file's folder on. What is wrong with one
// server is its Problem; the error is of kind Invalid, and of the file as a whole.
func Load(path string) ([]Server, error) {
	path, err := filepath.Abs(path)
	var data []byte
	if err == nil {
		data, _, err = fileAt(path, maxFile)
	}
	r := &document.Reader{File: path, Form: document.Form{
		MaxSize: maxFile, Loose: true, Needs: "it needs mcpServers: and under it a name for each server", Second: "put all servers into the first",
	}}
	f := &form{Reader: r, folder: filepath.Dir(path), keys: map[string]int{}, chosen: map[string][]string{}}
	if err == nil {
		if text, ok := r.Text(data); ok {
			f.read(text)
		}
		err = r.Err()
	}
	if err != nil {
		return nil, domain.Invalidf("%s", err)
	}
	return f.servers, nil
}

// reading is a server as its mapping is read.
type reading struct {
	Server
	// folder is the file's, words are the command's where it is a list.
	folder string
	words  []string
	oauth  OAuth
	kind   string
}

func (s *reading) keys() document.Keys {
	timeout := func(into *time.Duration) document.Value {
		value := document.Duration(func(d time.Duration) { *into = d })
		return document.Value{Read: func(at document.Place) {
			if n, err := strconv.Atoi(at.Node.Value); err == nil && n >= 1000 { // milliseconds, as some programs have it
				at.Node = like(at.Node, at.Node.Value+"ms")
			}
			value.Read(at)
		}}
	}
	effect := func(into *domain.Effect) document.Value {
		return document.Word(into, []domain.Effect{domain.ReadOnly, domain.Idempotent, domain.AtMostOnce})
	}
	plain := func(into *string) document.Value {
		return document.TextThen(func(text string) string {
			*into = written(text)
			if below, ok := strings.CutPrefix(text, "~/"); ok {
				*into = "${HOME}/" + below
			}
			return open(*into)
		})
	}
	path := func(into *string) document.Value {
		return plain(into).Then(func(document.Place) { *into = from(s.folder, *into) })
	}
	s.Dir = s.folder
	return document.Keys{
		{Name: "type", Value: document.TextThen(s.typed)},
		{Name: "command", Value: document.Value{Read: func(at document.Place) {
			if at.Node.Kind == yaml.SequenceNode {
				document.ListOf(&s.words, plain).Read(at)
				return
			}
			plain(&s.Command).Read(at)
		}}},
		{Name: "args", Value: document.Value{Read: func(at document.Place) {
			document.ListOf(&s.Args, plain).Read(at.On(inWords(at.Node)))
		}}},
		{Name: "env", Value: variables(&s.Env, checkVariable)},
		{Name: "envFile", Value: path(&s.EnvFile)},
		{Name: "cwd", Value: path(&s.Dir)},
		{Name: "url", Value: plain(&s.URL).Then(func(document.Place) { s.URL = strings.TrimSpace(s.URL) })},
		{Name: "headers", Value: variables(&s.Headers, checkHeader)},
		{Name: "oauth", Value: document.Mapping(document.Keys{
			{Name: "client_id", Value: plain(&s.oauth.ClientID), Needed: "the authorization server knows the worker by it"},
			{Name: "client_secret", Value: document.TextThen(func(text string) string {
				s.oauth.Secret = Variable{Name: "client_secret", Text: writtenWord(text)}
				if len(s.oauth.Secret.trusted()) > 0 {
					return "names a trusted value, which is no secret; name a variable as ${NAME}"
				}
				return checkSecrets(s.oauth.Secret)
			}), Needed: "name it as ${NAME}"},
			{Name: "issuer", Value: document.Text(&s.oauth.Issuer, checkURL, open), Needed: "the MCP server could else name any, which would be sent the secret"},
		}).Then(func(document.Place) { s.OAuth = &s.oauth })},
		{Name: "effect", Value: effect(&s.Effect)},
		{Name: "timeout", Value: timeout(&s.Timeout)},
		{Name: "tools", Value: toolsOf(&s.Tools, effect, timeout)},
		{Name: "elicitation", Value: document.Word(new(string), []string{refuse})},
		{Name: "sampling", Value: document.Word(new(string), []string{refuse})},
		{Name: "excludeTools", Value: listOf(&s.Without)},
		{Name: "disabled", Value: document.Truth(func(yes bool) { s.Disabled = s.Disabled || yes })},
		{Name: "enabled", Value: document.Truth(func(yes bool) { s.Disabled = s.Disabled || !yes })},
		{Name: "stateful", Value: document.Truth(func(yes bool) { s.Stateful = yes })},
	}
}

func (s *reading) typed(text string) string {
	switch kind := plainKey(text); {
	case kind == "stdio", kind == "local":
		s.kind = "stdio"
	case kind == "sse":
		s.Notes = append(s.Notes, "type sse is gone from the protocol: streamable HTTP is tried at its url")
		s.kind = "http"
	case kind == "remote", kind == "streamable", strings.Contains(kind, "http"):
		s.kind = "http"
	default:
		return fmt.Sprintf("%q is not known; there are stdio and http", document.Shorten(text))
	}
	return ""
}

// commanded puts the words of a command apart, and says what is wrong with it.
func (s *reading) commanded() (wrong string) {
	if runtime.GOOS != "windows" {
		if shell := strings.TrimSuffix(strings.ToLower(s.Command), ".exe"); shell == "cmd" && len(s.Args) > 1 && strings.EqualFold(s.Args[0], "/c") {
			s.Notes = append(s.Notes, "cmd /c is left out: this is not Windows")
			s.Command, s.Args = s.Args[1], s.Args[2:]
		}
		if ofWindows.MatchString(s.Command) {
			return "is a path of Windows; name the program as it is called on this machine"
		}
	}
	path := s.Command
	if strings.ContainsRune(path, filepath.Separator) {
		path = from(s.folder, path)
	}
	if _, err := exec.LookPath(path); err != nil && strings.Contains(path, " ") && !strings.Contains(path, "${") {
		if strings.ContainsAny(path, `"'\`) {
			return "is no program, and seems to be one with its arguments; give these in args, each by itself"
		}
		s.words = strings.Fields(s.Command)
	}
	if len(s.words) > 0 {
		path, s.Args = s.words[0], slices.Concat(s.words[1:], s.Args)
	}
	if s.Command = path; strings.ContainsRune(path, filepath.Separator) {
		s.Command = from(s.folder, path)
	}
	return ""
}

// ofWindows finds the path of a drive.
var ofWindows = regexp.MustCompile(`^[a-zA-Z]:[\\/]`)

// from is a path that a file names, from its folder on.
func from(folder, path string) string {
	if filepath.IsAbs(path) || strings.HasPrefix(path, "${") {
		return path
	}
	return filepath.Join(folder, path)
}

func (s *reading) check(at document.Place, given document.Given) {
	if wrong := s.commanded(); wrong != "" {
		at.In("command", given["command"]).Problem("%s", wrong)
	}
	s.Inputs = slices.DeleteFunc(slices.Clone(s.Inputs), func(input Input) bool {
		return !slices.Contains(slices.Concat(s.seenNames(), s.Secrets()), InputMark+input.ID)
	})
	if wrong := s.exposed(); wrong != "" {
		at.Problem("%s", wrong)
	}
	authorized := s.OAuth != nil
	twice := false
	s.Headers = slices.DeleteFunc(s.Headers, func(v Variable) bool {
		switch http.CanonicalHeaderKey(v.Name) {
		case "Authorization":
			twice, authorized = twice || authorized, true
		case "Accept", "Content-Type":
			s.Notes = append(s.Notes, v.Name+" is not heeded: the protocol sets it")
			return true
		}
		return false
	})
	if wrong := checkURL(s.URL); wrong != "" && s.URL != "" && !reference.MatchString(s.URL) {
		at.In("url", given["url"]).Problem("%s", wrong)
	}
	switch {
	case s.Command == "" && s.URL == "":
		at.Problem("has neither command nor url; give the program to start, or the endpoint of one that runs")
	case s.Command != "" && s.URL != "":
		at.Problem("has both command and url; leave one of them out")
	case s.kind == "stdio" && s.Command == "":
		at.On(given["type"]).Problem("is stdio and has no command")
	case s.kind == "http" && s.URL == "":
		at.On(given["type"]).Problem("is http and has no url")
	}
	empty := map[string]bool{"args": len(s.Args) == 0, "env": len(s.Env) == 0, "headers": len(s.Headers) == 0}
	lacks, others := "", ""
	switch {
	case s.URL == "":
		lacks, others = "url", "headers oauth"
	case s.Command == "":
		lacks, others = "command", "args env envFile cwd"
	}
	for name := range strings.FieldsSeq(others) {
		if (given[name] != nil || name == "headers") && !empty[name] { // some keys but name headers
			at.In(name, cmp.Or(given[name], at.Node)).Problem("is for a server with %s; leave it out", lacks)
		}
	}
	if twice {
		at.On(cmp.Or(given["oauth"], at.Node)).Problem("gives each request its Authorization twice, by headers, oauth or bearer_token_env_var; keep one")
	}
}

func checkURL(text string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return fmt.Sprintf("%q is no URL such as https://example.com/mcp", document.Shorten(text))
	case doubled.MatchString(text):
		return "has {{ }} for what the worker does not know; name a variable as ${NAME}"
	case u.User != nil:
		return "holds a user's name; put what proves who asks into headers, as ${NAME}"
	}
	return ""
}

func variables(into *[]Variable, check func(Variable) string) document.Value {
	return document.Value{Read: func(at document.Place) {
		at.On(entries(at.Node)).Entries(nil, func(key *yaml.Node, at document.Place) {
			v := Variable{Name: key.Value}
			document.TextThen(func(text string) string { v.Text = writtenWord(text); return check(v) }).Read(at)
			*into = append(*into, v)
		})
	}}
}

func listOf(into *[]string) document.Value {
	return document.ListOf(into, func(name *string) document.Value { return document.Text(name) })
}

func toolsOf(into *map[string]ToolConfig, effect func(*domain.Effect) document.Value, timeout func(*time.Duration) document.Value) document.Value {
	var names []string
	list := listOf(&names).Then(func(document.Place) {
		if slices.Contains(names, "*") {
			return
		}
		*into = map[string]ToolConfig{}
		for _, name := range names {
			(*into)[name] = ToolConfig{}
		}
	})
	return document.Either(list, document.Value{Read: func(at document.Place) {
		*into = map[string]ToolConfig{}
		at.Entries(nil, func(key *yaml.Node, at document.Place) {
			var c ToolConfig
			at.Mapping(document.Keys{
				{Name: "effect", Value: effect(&c.Effect)},
				{Name: "timeout", Value: timeout(&c.Timeout)},
				{Name: "arguments", Value: argumentsOf(&c.Arguments)},
			})
			(*into)[key.Value] = c
		})
	}})
}
