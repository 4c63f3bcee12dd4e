package scripted

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"slices"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"everstep/domain"
)

const (
	// maxScript bounds a file, in bytes.
	maxScript = 1 << 20
	// maxNodes bounds the values in a file, aliases followed.
	maxNodes = 1 << 18
	// maxDelay bounds how long an answer takes.
	maxDelay = 24 * time.Hour
)

// parse reads a script. Its errors name the file and the line.
func parse(path string, data []byte) (*script, error) {
	if len(data) > maxScript {
		return nil, domain.Errorf(domain.TooLarge, "script %s: has more than %d bytes; make it smaller", path, maxScript)
	}
	if !utf8.Valid(data) {
		return nil, domain.Errorf(domain.Invalid, "script %s: is not valid UTF-8; convert it", path)
	}
	r := &reader{path: path, budget: maxNodes}
	root, err := r.document(data)
	if err != nil {
		return nil, err
	}
	s := &script{path: path}
	var has bool
	err = r.mapping(root, "the script", field{"turns", func(node *yaml.Node) error {
		has = true
		return r.list(node, "turns", func(node *yaml.Node) error {
			t, err := r.turn(node)
			s.turns = append(s.turns, t)
			return err
		})
	}}, field{"summaries", func(node *yaml.Node) error {
		return r.list(node, "summaries", func(node *yaml.Node) error {
			t, err := r.summary(node)
			s.summaries = append(s.summaries, t)
			return err
		})
	}})
	if err == nil && !has {
		err = r.errorf(root, "the script has no turns")
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// place finds the line in an error of the YAML parser.
var place = regexp.MustCompile(`^yaml: (?:line (\d+): )?(?s:(.*))$`)

func (r *reader) document(data []byte) (root *yaml.Node, err error) {
	var document, more yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, domain.Errorf(domain.Invalid, "script %s: is empty; give it turns", r.path)
	case err != nil:
		found := place.FindStringSubmatch(err.Error())
		if found == nil || found[1] == "" {
			return nil, domain.Errorf(domain.Invalid, "script %s: %s", r.path, err)
		}
		return nil, domain.Errorf(domain.Invalid, "script %s:%s: %s", r.path, found[1], found[2])
	}
	if document.Kind != yaml.DocumentNode || len(document.Content) == 0 {
		return nil, domain.Errorf(domain.Invalid, "script %s: is empty; give it turns", r.path)
	}
	if decoder.Decode(&more) == nil {
		return nil, r.errorf(&more, "the script has a second document; keep one")
	}
	return document.Content[0], nil
}

func (r *reader) turn(node *yaml.Node) (turn, error) {
	t := turn{line: node.Line}
	t.text = &quoting{}
	var finish string
	err := r.mapping(node, "a turn",
		r.quoted("text", &t.text),
		field{"json", func(node *yaml.Node) error {
			v, err := r.value(node)
			t.json = &v
			return err
		}},
		r.text("reasoning", &t.reasoning),
		field{"tool_calls", func(node *yaml.Node) error {
			return r.list(node, "tool_calls", func(node *yaml.Node) error {
				c, err := r.call(node)
				t.calls = append(t.calls, c)
				return err
			})
		}},
		field{"usage", func(node *yaml.Node) error { return r.usage(node, &t.usage) }},
		r.text("finish_reason", &finish),
		r.duration("delay", func(d time.Duration) { t.delay = min(d, maxDelay) }),
		r.failures(&t),
	)
	if err != nil {
		return t, err
	}
	if t.json != nil && (t.text.plain != "" || t.text.template != nil) {
		return t, r.errorf(node, "a turn has either text or json")
	}
	t.finish, err = r.finish(node, finish, len(t.calls) > 0)
	return t, err
}

// summary reads what answers a call that sums up: it quotes nothing and calls
// no tools.
func (r *reader) summary(node *yaml.Node) (turn, error) {
	t := turn{line: node.Line, text: &quoting{}, finish: domain.FinishStop}
	err := r.mapping(node, "a summary",
		r.text("text", &t.text.plain),
		field{"usage", func(node *yaml.Node) error { return r.usage(node, &t.usage) }},
		r.duration("delay", func(d time.Duration) { t.delay = min(d, maxDelay) }),
		r.failures(&t),
	)
	return t, err
}

// failures returns a field that reads what the first attempts of a turn meet.
func (r *reader) failures(t *turn) field {
	return field{"failures", func(node *yaml.Node) error {
		return r.list(node, "failures", func(node *yaml.Node) error {
			f, err := r.fault(node)
			t.failures = append(t.failures, f)
			return err
		})
	}}
}

func (r *reader) finish(node *yaml.Node, word string, calls bool) (domain.FinishReason, error) {
	switch {
	case word == "" && calls:
		return domain.FinishToolCalls, nil
	case word == "":
		return domain.FinishStop, nil
	case !slices.Contains(domain.FinishReasons(), domain.FinishReason(word)):
		return "", r.errorf(node, "finish_reason is %q; give one of %v", word, domain.FinishReasons())
	}
	return domain.FinishReason(word), nil
}

func (r *reader) usage(node *yaml.Node, u *domain.Usage) error {
	*u = domain.Usage{}
	err := r.mapping(node, "usage",
		r.number("input_tokens", func(n int64) { u.InputTokens = n }),
		r.number("output_tokens", func(n int64) { u.OutputTokens = n }),
		r.number("cache_read_tokens", func(n int64) { u.CacheReadTokens = n }),
		r.number("cache_write_tokens", func(n int64) { u.CacheWriteTokens = n }),
		r.number("reasoning_tokens", func(n int64) { u.ReasoningTokens = n }),
	)
	return err
}

func (r *reader) fault(node *yaml.Node) (fault, error) {
	var f fault
	err := r.mapping(node, "a failure",
		r.number("status", func(n int64) { f.status = int(n) }),
		r.number("cut_after", func(n int64) { f.cut, f.cutAfter = true, int(n) }),
		r.duration("retry_after", func(d time.Duration) { f.retryAfter, f.asked = d, true }),
		r.text("message", &f.message),
		r.text("code", &f.code),
	)
	switch {
	case err != nil:
		return f, err
	case f.cut == (f.status != 0):
		return f, r.errorf(node, "a failure has either a status or cut_after")
	case !f.cut && (f.status < 400 || f.status > 599):
		return f, r.errorf(node, "status is %d; give one from 400 to 599", f.status)
	}
	return f, nil
}
