package mcp

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"everstep/activities/document"
	"everstep/domain"
)

// A Variable is a name with a text in which ${NAME} stands for a secret of the worker's, and in headers
// ${trusted.NAME} for a trusted value of the agent that makes the call. ${NAME:-TEXT} is TEXT where NAME is not set.
type Variable struct{ Name, Text string }

// An Unset is the error of a name that stands for nothing.
type Unset string

// Error says which name, and where to set it.
func (u Unset) Error() string { return string(u) }

const (
	// InputMark begins the names of what a file asks for under inputs: ${input:key}.
	InputMark = "input:"
	// Workspace is the name of the folder that servers work in.
	Workspace = "workspaceFolder"
)

var (
	reference = regexp.MustCompile(`\$\{([^{}]*)\}`)
	// theirs are references as some other programs write them; worded is one in env and headers, as all of a text or its last word.
	theirs        = regexp.MustCompile(`\$?\{env:([^{}]*)\}|\$\{\{ *(?:secrets|vars|env)\.([^{} ]*) *\}\}`)
	worded        = regexp.MustCompile(`(^|\s)\$([a-zA-Z_][a-zA-Z0-9_]*)$`)
	named         = regexp.MustCompile(`(?i)^((bearer|basic|token) )?\$\{(input:[^{}\x00-\x1f]{1,64}|[a-z_][a-z0-9_]*)\}$`)
	validVariable = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
	validName     = regexp.MustCompile(`^(` + InputMark + `[^\x00-\x1f]{1,64}|[a-zA-Z_][a-zA-Z0-9_]*)$`)
	secretName    = regexp.MustCompile(`(?i)(^|[_-])(token|secret|password|passwd|api[_-]?key|access[_-]?key|authorization|cookie)$`)
	// secretive are the names whose values are shown to nobody, however they are put together.
	secretive = regexp.MustCompile(`(?i)token|secret|passw|passphrase|pwd|credential|auth|cookie|private|signature|key|(^|[_-])(pat|pin|dsn|conn|connection|database)([_-]|$)`)
	// secretText is what only secrets look like, whatever they are called.
	secretText = regexp.MustCompile(`(?i)^(bearer|basic) \S{8,}$|^(sk-|ghp_|github_pat_|glpat-|xox[abp]-|AKIA|AIza)\S{12,}$`)
	// doubled is a reference of some other programs to what they alone know.
	doubled = regexp.MustCompile(`\{\{ *\w+ *\}\}`)
	// holdsPassword finds the URL of a user with a password.
	holdsPassword = regexp.MustCompile(`://[^/@\s]*:[^/@\s]+@`)
)

// written is a text with references in the one form that is read.
func written(text string) string {
	text = theirs.ReplaceAllString(text, "$${$1$2}")
	return strings.NewReplacer("${userHome}", "${HOME}", "${workspaceRoot}", "${"+Workspace+"}", "${pathSeparator}", "/", "${/}", "/").Replace(text)
}

// writtenWord is a text with references in that form, where it is all of a value of env or headers.
func writtenWord(text string) string { return worded.ReplaceAllString(written(text), "$1$${$2}") }

// Named is a text in the form that is read, where it is a reference alone, or one behind a word such as Bearer. Empty: it
// may be, or hold, a secret itself.
func Named(text string) string {
	return named.FindString(writtenWord(text))
}

// Names are the secrets that the text names.
func (v Variable) Names() (names []string) {
	for _, found := range reference.FindAllStringSubmatch(v.Text, -1) {
		if name, _, _ := strings.Cut(found[1], ":-"); !strings.HasPrefix(name, trustedMark) {
			names = append(names, name)
		}
	}
	return names
}

// with is the text with its secrets and trusted values in their places. A trusted value that is not given stays as it
// is written.
func (v Variable) with(secret func(name string) (string, error), trusted domain.Trusted) (string, error) {
	var failed error
	text := reference.ReplaceAllStringFunc(v.Text, func(found string) string {
		inner := found[2 : len(found)-1]
		if name, ok := strings.CutPrefix(inner, trustedMark); ok {
			if value, given := trusted[name]; given {
				return asText(value)
			}
			return found
		}
		name, fallback, has := strings.Cut(inner, ":-")
		value, err := secret(name)
		if _, unset := errors.AsType[Unset](err); unset && has {
			return fallback
		}
		failed = cmp.Or(failed, err)
		return value
	})
	return text, failed
}

// orDefault looks up what an input with a default stands for, also where nobody has said.
func (s Server) orDefault(look func(name string) (string, error)) func(name string) (string, error) {
	return func(name string) (string, error) {
		text, err := look(name)
		if _, unset := errors.AsType[Unset](err); unset {
			i := slices.IndexFunc(s.Inputs, func(input Input) bool { return input.Default != "" && InputMark+input.ID == name })
			if i >= 0 {
				return s.Inputs[i].Default, nil
			}
		}
		return text, err
	}
}

// With is the server with what ${NAME} stands for in its command, arguments, folder and URLs, which others on the
// machine see: plain looks up what is no secret. Of secrets it but looks whether they are there; what is not is its Problem.
func (s Server) With(plain, secret func(name string) (string, error)) Server {
	if s.Disabled {
		return s
	}
	plain, secret = s.orDefault(plain), s.orDefault(secret)
	s.Args = slices.Clone(s.Args)
	if s.OAuth != nil {
		s.OAuth = new(*s.OAuth)
	}
	wrong := func(problem string) { s.Problem = cmp.Or(s.Problem, problem) }
	for _, text := range append(s.seen(), &s.EnvFile) {
		made, err := Variable{Text: *text}.with(func(name string) (string, error) {
			if s.own(name) && text != &s.EnvFile { // the program is not told of that file, and cannot put anything into its path
				return "${" + name + "}", nil
			}
			return plain(name)
		}, nil)
		switch {
		case err != nil:
			wrong(err.Error())
		case made != *text && holdsPassword.MatchString(made):
			wrong("a URL with a password would stand in its args or url, where others on the machine see it; put it into env or headers")
		default:
			*text = made
		}
	}
	if problem := checkURL(s.URL); problem != "" && s.URL != "" {
		wrong("url: " + problem)
	}
	if _, err := s.filed(); err != nil {
		wrong(err.Error())
	}
	for _, v := range s.variables() {
		if _, err := v.with(secret, nil); err != nil {
			wrong(v.Name + ": " + err.Error())
		}
	}
	return s
}

// open checks a text that others on the machine see.
func open(text string) string {
	if strings.ContainsRune(text, 0) {
		return "holds a zero byte"
	}
	v := Variable{Text: text}
	if len(v.trusted()) > 0 {
		return "names a trusted value, which goes in headers and the arguments of a tool alone"
	}
	return checkNames(v)
}

// exposed says which name in what others on the machine see is that of a secret.
func (s Server) exposed() string {
	var secrets []string
	for _, v := range s.variables() {
		if secretive.MatchString(v.Name) || slices.Contains(s.Headers, v) {
			secrets = append(secrets, v.Names()...)
		}
	}
	for _, input := range s.Inputs {
		if input.Password {
			secrets = append(secrets, InputMark+input.ID)
		}
	}
	for _, name := range s.seenNames() {
		if secretive.MatchString(name) || slices.Contains(secrets, name) {
			return fmt.Sprintf("${%s} is a secret, or looks like one, and others on the machine see what stands in command, args, cwd and url; name it in env or headers alone", name)
		}
	}
	return ""
}

// own reports whether a name is that of a variable which the server itself is given: the program puts that into its
// arguments, where it does.
func (s Server) own(name string) bool {
	return slices.ContainsFunc(s.Env, func(v Variable) bool { return v.Name == name })
}

// seen are the texts that others on the machine see.
func (s *Server) seen() []*string {
	texts := []*string{&s.Command, &s.Dir, &s.URL}
	if s.OAuth != nil {
		texts = append(texts, &s.OAuth.ClientID, &s.OAuth.Issuer)
	}
	for i := range s.Args {
		texts = append(texts, &s.Args[i])
	}
	return texts
}

// seenNames are the names in what others on the machine see.
func (s Server) seenNames() (names []string) {
	for _, text := range s.seen() {
		names = append(names, Variable{Text: *text}.Names()...)
	}
	return append(slices.DeleteFunc(names, s.own), Variable{Text: s.EnvFile}.Names()...)
}

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
	own := []string{"Content-Length", "Host", "Mcp-Session-Id", "Mcp-Protocol-Version", "Last-Event-Id", "Connection", "Transfer-Encoding"}
	if slices.Contains(own, http.CanonicalHeaderKey(v.Name)) {
		return "is set by the protocol; leave it out"
	}
	return cmp.Or(checkTrusted(v), checkSecrets(v))
}

var headerName = regexp.MustCompile("^[a-zA-Z0-9!#$%&'*+.^_`|~-]+$")

func checkNames(v Variable) string {
	for _, name := range v.Names() {
		if !validName.MatchString(name) {
			return fmt.Sprintf("${%s} names no variable; write ${NAME}", document.Shorten(name))
		}
	}
	if rest := reference.ReplaceAllString(v.Text, ""); strings.Contains(rest, "${") || strings.Contains(rest, "{file:") {
		return "has a reference that names no variable; write ${NAME}"
	}
	return ""
}

// checkSecrets wants what looks like a secret to be named, not written down.
func checkSecrets(v Variable) string {
	if wrong := checkNames(v); wrong != "" {
		return wrong
	}
	if doubled.MatchString(v.Text) {
		return "has {{ }} for what the worker does not know; name a variable as ${NAME}"
	}
	if strings.ContainsAny(v.Text, "\x00\r\n") {
		return "holds a line end or a zero byte"
	}
	_, fallback, _ := strings.Cut(v.Text, ":-")
	named := len(v.Names()) > 0 && strings.Trim(fallback, "}") == ""
	if v.Text != "" && !named && (secretName.MatchString(v.Name) || secretText.MatchString(v.Text)) {
		return "holds a secret; name it instead, as ${NAME}, and set that variable, or NAME_FILE, where the worker runs"
	}
	return ""
}
