package mcp

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"go.yaml.in/yaml/v3"

	"everstep/activities/document"
	"everstep/domain"
)

// A Server is one that a file configures: a program to start, or the URL of one that
// runs elsewhere.
type Server struct {
	Name string
	// Command is a program, Args are its arguments, Env is its environment and Dir where it runs.
	Command string
	Args    []string
	Env     []Variable
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
	// Stateful says that calls depend on earlier ones: each agent has a session of its own, on one worker.
	Stateful bool
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

// A Variable is a name with a text in which ${NAME} stands for a secret of the worker's, and in headers
// ${trusted.NAME} for a trusted value of the agent that makes the call.
type Variable struct{ Name, Text string }

var reference = regexp.MustCompile(`\$\{([^{}]*)\}`)

// Names are the secrets that the text names.
func (v Variable) Names() (names []string) {
	for _, found := range reference.FindAllStringSubmatch(v.Text, -1) {
		if !strings.HasPrefix(found[1], trustedMark) {
			names = append(names, found[1])
		}
	}
	return names
}

// with is the text with its secrets and trusted values in their places. A trusted value that is not given stays as it
// is written.
func (v Variable) with(secret func(name string) (string, error), trusted domain.Trusted) (string, error) {
	var failed error
	text := reference.ReplaceAllStringFunc(v.Text, func(found string) string {
		if name, ok := strings.CutPrefix(found[2:len(found)-1], trustedMark); ok {
			if value, given := trusted[name]; given {
				return asText(value)
			}
			return found
		}
		value, err := secret(found[2 : len(found)-1])
		failed = cmp.Or(failed, err)
		return value
	})
	return text, failed
}

// allowed says what holds for a tool; ok is false for one that agents may not have.
func (s Server) allowed(tool string) (config ToolConfig, ok bool) {
	config, ok = s.Tools[tool]
	config.Effect = cmp.Or(config.Effect, s.Effect, domain.AtMostOnce)
	config.Timeout = cmp.Or(config.Timeout, s.Timeout)
	return config, ok || s.Tools == nil
}

const (
	maxFile    = 1 << 20
	maxServers = 64
)

// Load reads a file of servers, in JSON or YAML: the key mcpServers as other programs
// have it, and keys of our own. It asks no server and looks up no secret. Relative
// paths are from the file's folder on. Its error is of kind Invalid, and says all that
// is wrong with its line.
func Load(path string) ([]Server, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, domain.Errorf(domain.Invalid, "%s", err)
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, domain.Errorf(domain.Invalid, "%s cannot be read: %s; name a file that can", path, errorOf(err))
	case !info.Mode().IsRegular():
		return nil, domain.Errorf(domain.Invalid, "%s is no file; name one", path)
	case info.Size() > maxFile:
		return nil, domain.Errorf(domain.Invalid, "%s has more than %d bytes; make it smaller", path, maxFile)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, domain.Errorf(domain.Invalid, "%s cannot be read: %s; name a file that can", path, errorOf(err))
	}
	if strings.EqualFold(filepath.Ext(path), ".json") {
		// A tab is no string's in JSON, and YAML takes none as space.
		data = bytes.ReplaceAll(data, []byte{'\t'}, []byte{' '})
	}
	r := &document.Reader{File: path, Form: document.Form{
		MaxSize: maxFile, Loose: true, Needs: "it needs mcpServers: and under it a name for each server", Second: "put all servers into the first",
	}}
	var servers []Server
	if text, ok := r.Text(data); ok {
		r.Read(text, document.Keys{{Name: "mcpServers", Value: serversOf(filepath.Dir(path), &servers), Needed: "put every server under it, by a name"}})
	}
	if err := r.Err(); err != nil {
		return nil, domain.Errorf(domain.Invalid, "%s", err)
	}
	return servers, nil
}

func errorOf(err error) error {
	if inner, ok := err.(interface{ Unwrap() error }); ok {
		return inner.Unwrap()
	}
	return err
}

func serversOf(folder string, into *[]Server) document.Value {
	one := document.Mapping(new(reading).keys(folder))
	return document.Value{
		Schema: &jsonschema.Schema{Type: "object", AdditionalProperties: one.Schema},
		Read: func(r *document.Reader, field string, node *yaml.Node) {
			r.Entries(field, node, nil, func(field string, key, value *yaml.Node) {
				if wrong := CheckServer(key.Value); wrong != "" {
					r.Problem(key, field, "%s", wrong)
					return
				}
				s := reading{Server: Server{Name: key.Value}}
				given := r.Mapping(field, value, s.keys(folder))
				if given == nil {
					return
				}
				s.check(r, field, key, given)
				*into = append(*into, s.Server)
			})
			if len(*into) > maxServers {
				r.Problem(node, field, "has %d servers; at most %d are allowed", len(*into), maxServers)
			}
		},
	}
}

// reading is a server as its mapping is read.
type reading struct {
	Server
	oauth OAuth
	kind  string
	asks  string
}

func (s *reading) keys(folder string) document.Keys {
	timeout := func(into *time.Duration) document.Value {
		return document.Duration(func(d time.Duration) { *into = d })
	}
	effect := func(into *domain.Effect) document.Value {
		return document.Word(into, []domain.Effect{domain.ReadOnly, domain.Idempotent, domain.AtMostOnce})
	}
	from := func(path string) string {
		if filepath.IsAbs(path) {
			return path
		}
		return filepath.Join(folder, path)
	}
	plain := func(into *string) document.Value { return document.Text(into, noReference) }
	s.Dir = folder
	return document.Keys{
		{Name: "type", Doc: "stdio or http; what the other keys say unless given.", Value: document.Word(&s.kind, []string{"stdio", "http", "streamable-http"})},
		{Name: "command", Doc: "The program to start, by name or path.", Value: plain(&s.Command).Then(func(*document.Reader, string, *yaml.Node) {
			if strings.ContainsRune(s.Command, filepath.Separator) {
				s.Command = from(s.Command)
			}
		})},
		{Name: "args", Doc: "Its arguments.", Value: document.ListOf(&s.Args, func(arg *string) document.Value { return plain(arg) })},
		{Name: "env", Doc: "All of its environment but PATH; ${NAME} is a secret of the worker's.", Value: variables(&s.Env, checkVariable)},
		{Name: "cwd", Doc: "Where it runs; the file's folder unless given.", Value: plain(&s.Dir).Then(func(*document.Reader, string, *yaml.Node) { s.Dir = from(s.Dir) })},
		{Name: "url", Doc: "The endpoint of a server over streamable HTTP.", Value: document.Text(&s.URL, checkURL, noReference)},
		{Name: "headers", Doc: "Headers of each request; ${NAME} is a secret of the worker's, and ${trusted.NAME}, in calls alone, what whoever started the agent says.", Value: variables(&s.Headers, checkHeader)},
		{Name: "oauth", Doc: "How a token is got that goes with each request, by the grant client_credentials.", Value: document.Mapping(document.Keys{
			{Name: "client_id", Doc: "How the authorization server knows this worker.", Value: plain(&s.oauth.ClientID), Needed: "the authorization server knows the worker by it"},
			{Name: "client_secret", Doc: "What proves it, as ${NAME}.", Value: document.TextThen(func(text string) string {
				s.oauth.Secret = Variable{Name: "client_secret", Text: text}
				if len(s.oauth.Secret.trusted()) > 0 {
					return "names a trusted value, which is no secret; name a variable as ${NAME}"
				}
				return checkSecrets(s.oauth.Secret)
			}), Needed: "name it as ${NAME}"},
			{Name: "issuer", Doc: "The URL of the authorization server: no other is sent the secret.", Value: document.Text(&s.oauth.Issuer, checkURL, noReference), Needed: "the MCP server could else name any, which would be sent the secret"},
		}).Then(func(*document.Reader, string, *yaml.Node) { s.OAuth = &s.oauth })},
		{Name: "effect", Doc: "What a second run of a call does, for tools that say nothing else.", Value: effect(&s.Effect).Default(domain.AtMostOnce)},
		{Name: "timeout", Doc: "What one attempt of a call may take; the agent's bound unless given.", Value: timeout(&s.Timeout)},
		{Name: "tools", Doc: "The only tools that agents may have: a list, or a mapping that says what holds for each.", Value: toolsOf(&s.Tools, effect, timeout)},
		{Name: "elicitation", Doc: "What becomes of a server's question to a person: refuse, in this version.", Value: document.Word(&s.asks, []string{refuse}).Default(refuse)},
		{Name: "sampling", Doc: "What becomes of its question to a model: refuse, in this version.", Value: document.Word(&s.asks, []string{refuse}).Default(refuse)},
		{Name: "stateful", Doc: "Whether calls depend on earlier ones: each agent then has a session of its own, on one worker.", Value: document.Truth(func(yes bool) { s.Stateful = yes })},
	}
}

func (s *reading) check(r *document.Reader, field string, key *yaml.Node, given document.Given) {
	program := s.kind == "stdio" || s.kind == "" && s.Command != ""
	switch {
	case s.Command == "" && s.URL == "":
		r.Problem(key, field, "has neither command nor url; give the program to start, or the endpoint of one that runs")
	case s.Command != "" && s.URL != "":
		r.Problem(key, field, "has both command and url; leave one of them out")
	case program != (s.Command != ""):
		r.Problem(given["type"], field, "is %s and has no %s", s.kind, map[bool]string{true: "command", false: "url"}[program])
	}
	for _, name := range []string{"args", "env", "cwd"} {
		if given[name] != nil && s.Command == "" && s.URL != "" {
			r.Problem(given[name], document.Join(field, name), "is for a server with command; leave it out")
		}
	}
	for _, name := range []string{"headers", "oauth"} {
		if given[name] != nil && s.URL == "" {
			r.Problem(given[name], document.Join(field, name), "is for a server with url; leave it out")
		}
	}
	authorizes := func(v Variable) bool { return http.CanonicalHeaderKey(v.Name) == "Authorization" }
	if s.OAuth != nil && slices.ContainsFunc(s.Headers, authorizes) {
		r.Problem(given["oauth"], document.Join(field, "oauth"), "gives each request its Authorization; leave that header out, or this")
	}
}

func noReference(text string) string {
	if strings.ContainsRune(text, 0) {
		return "holds a zero byte"
	}
	if reference.MatchString(text) {
		return "${NAME} is put in its place in env, headers and client_secret alone: others on the machine see what stands here"
	}
	return ""
}

func checkURL(text string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return fmt.Sprintf("%q is no URL such as https://example.com/mcp", document.Shorten(text))
	case u.User != nil:
		return "holds a user's name; put what proves who asks into headers, as ${NAME}"
	}
	return ""
}

var (
	validVariable = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
	secretName    = regexp.MustCompile(`(?i)(^|[_-])(token|secret|password|passwd|api[_-]?key|access[_-]?key|authorization|cookie)$`)
)

func checkVariable(v Variable) string {
	if !validVariable.MatchString(v.Name) {
		return "is no name of a variable; use letters, digits and underscores"
	}
	if len(v.trusted()) > 0 {
		return "names a trusted value: a program serves all agents of its worker; put it into the arguments of a tool"
	}
	return checkSecrets(v)
}

func checkHeader(v Variable) string {
	if !headerName.MatchString(v.Name) {
		return "is no name of a header"
	}
	own := []string{"Accept", "Content-Type", "Content-Length", "Host", "Mcp-Session-Id", "Mcp-Protocol-Version", "Last-Event-Id", "Connection", "Transfer-Encoding"}
	if slices.Contains(own, http.CanonicalHeaderKey(v.Name)) {
		return "is set by the protocol; leave it out"
	}
	return cmp.Or(checkTrusted(v), checkSecrets(v))
}

var headerName = regexp.MustCompile("^[a-zA-Z0-9!#$%&'*+.^_`|~-]+$")

// checkSecrets wants what looks like a secret to be named, not written down.
func checkSecrets(v Variable) string {
	for _, name := range v.Names() {
		if !validVariable.MatchString(name) {
			return fmt.Sprintf("${%s} names no variable; write ${NAME}", document.Shorten(name))
		}
	}
	if strings.ContainsAny(v.Text, "\x00\r\n") {
		return "holds a line end or a zero byte"
	}
	if secretName.MatchString(v.Name) && v.Text != "" && len(v.Names()) == 0 {
		return "holds a secret; name it instead, as ${NAME}, and set that variable, or NAME_FILE, where the worker runs"
	}
	return ""
}

func variables(into *[]Variable, check func(Variable) string) document.Value {
	return document.Value{
		Schema: &jsonschema.Schema{Type: "object", AdditionalProperties: &jsonschema.Schema{Type: "string"}},
		Read: func(r *document.Reader, field string, node *yaml.Node) {
			r.Entries(field, node, nil, func(field string, key, value *yaml.Node) {
				v := Variable{Name: key.Value}
				document.TextThen(func(text string) string { v.Text = text; return check(v) }).Read(r, field, value)
				*into = append(*into, v)
			})
		},
	}
}

func toolsOf(into *map[string]ToolConfig, effect func(*domain.Effect) document.Value, timeout func(*time.Duration) document.Value) document.Value {
	keys := func(c *ToolConfig) document.Keys {
		return document.Keys{
			{Name: "effect", Doc: "What a second run of a call does.", Value: effect(&c.Effect)},
			{Name: "timeout", Doc: "What one attempt of a call may take.", Value: timeout(&c.Timeout)},
			{Name: "arguments", Doc: "Arguments that the worker fills in and the model does not see, each a text with ${trusted.NAME}.", Value: argumentsOf(&c.Arguments)},
		}
	}
	var names []string
	list := document.ListOf(&names, func(name *string) document.Value { return document.Text(name) }).
		Then(func(*document.Reader, string, *yaml.Node) {
			*into = map[string]ToolConfig{}
			for _, name := range names {
				(*into)[name] = ToolConfig{}
			}
		})
	return document.Either(list, document.Value{
		Schema: &jsonschema.Schema{Type: "object", AdditionalProperties: document.Mapping(keys(new(ToolConfig))).Schema},
		Read: func(r *document.Reader, field string, node *yaml.Node) {
			*into = map[string]ToolConfig{}
			r.Entries(field, node, nil, func(field string, key, value *yaml.Node) {
				var c ToolConfig
				r.Mapping(field, value, keys(&c))
				(*into)[key.Value] = c
			})
		},
	})
}
