package scripted

import (
	"cmp"
	"fmt"
	"text/template"
	"time"

	"everstep/activities/document"
	"everstep/activities/inference"
	"everstep/domain"
	"everstep/domain/enum"
)

const (
	maxScript = 1 << 20
	maxCount  = 1 << 40
)

type script struct {
	path  string
	turns []turn
	// summaries answer the calls that sum up; past the last the default does.
	summaries []turn
}

func (s *script) at(call inference.Call) (turn, error) {
	n, turns := call.Inference, s.turns
	if call.Summary {
		turns = s.summaries
	}
	if n < len(turns) {
		return turns[n], nil
	}
	if call.Summary {
		return turn{text: &quoting{plain: fmt.Sprintf("This is summary %d, which the script does not give.", n+1)}, finish: domain.FinishStop}, nil
	}
	return turn{}, domain.Invalidf("script %s: has %d turns, and the conversation is at number %d; add turns",
		s.path, len(turns), n+1).From(Name)
}

type turn struct {
	line int
	text *quoting
	// json takes the place of the text, or is the arguments of the tool for a response format.
	json      value
	reasoning string
	calls     []call
	// usage is zero where it is unknown.
	usage  domain.Usage
	finish domain.FinishReason
	delay  time.Duration
	// failures are what the first attempts meet, one each.
	failures []fault
}

type call struct {
	id, name  string
	arguments value
}

// A fault is how an attempt fails: with a status, or after some characters.
type fault struct {
	inference.Rejection
	cut      bool
	cutAfter int
}

// A quoting is a text that may quote the results of tools.
type quoting struct {
	plain    string
	template *template.Template
}

// A value is JSON, and texts in between that may quote the results of tools.
type value []piece

type piece struct {
	raw  string
	text *quoting // nil: raw
}

// parse reads a script. Its errors name the file, and each mistake with its line.
func parse(path string, data []byte) (*script, error) {
	r := &document.Reader{File: path, Form: document.Form{
		MaxSize: maxScript, Loose: true, Needs: "give it turns", Second: "keep one",
	}}
	s := &script{path: path}
	if text, ok := r.Text(data); ok {
		r.Read(text, document.Keys{
			{Name: "turns", Value: document.ListOf(&s.turns, turnValue), Needed: "give one for each inference"},
			{Name: "summaries", Value: document.ListOf(&s.summaries, summaryValue)},
		})
	}
	if err := r.Err(); err != nil {
		kind := domain.Invalid
		if len(data) > maxScript {
			kind = domain.TooLarge
		}
		return nil, domain.Errorf(kind, "script %s", err).From(Name)
	}
	return s, nil
}

func turnValue(t *turn) document.Value {
	t.text = &quoting{}
	keys := document.Keys{
		{Name: "text", Value: document.TextThen(func(text string) (wrong string) {
			q, err := quote(text)
			if err != nil {
				return err.Error()
			}
			t.text = q
			return ""
		})},
		{Name: "json", Value: document.Value{Read: t.json.read}},
		{Name: "reasoning", Value: document.Text(&t.reasoning)},
		{Name: "tool_calls", Value: document.ListOf(&t.calls, callValue)},
		{Name: "finish_reason", Value: document.Word(&t.finish, enum.Known[domain.FinishReason]())},
	}
	return document.Mapping(append(keys, t.shared()...)).Then(func(at document.Place) {
		t.line = at.Node.Line
		if t.json != nil && (t.text.plain != "" || t.text.template != nil) {
			at.Problem("has text and json; give one of them")
		}
		if len(t.calls) > 0 {
			t.finish = cmp.Or(t.finish, domain.FinishToolCalls)
		}
		t.finish = cmp.Or(t.finish, domain.FinishStop)
	})
}

// summaryValue quotes nothing and calls no tools.
func summaryValue(t *turn) document.Value {
	t.text, t.finish = &quoting{}, domain.FinishStop
	keys := document.Keys{{Name: "text", Value: document.Text(&t.text.plain)}}
	return document.Mapping(append(keys, t.shared()...)).Then(func(at document.Place) { t.line = at.Node.Line })
}

func (t *turn) shared() document.Keys {
	tokens := func(name string, into *int64) document.Key {
		return document.Key{Name: name, Value: document.Count(0, maxCount, func(n int64) { *into = n })}
	}
	return document.Keys{
		{Name: "usage", Value: document.Mapping(document.Keys{
			tokens("input_tokens", &t.usage.InputTokens), tokens("output_tokens", &t.usage.OutputTokens),
			tokens("cache_read_tokens", &t.usage.CacheReadTokens), tokens("cache_write_tokens", &t.usage.CacheWriteTokens),
			tokens("reasoning_tokens", &t.usage.ReasoningTokens),
		})},
		{Name: "delay", Value: document.Duration(func(d time.Duration) { t.delay = min(d, 24*time.Hour) })},
		{Name: "failures", Value: document.ListOf(&t.failures, faultValue)},
	}
}

func faultValue(f *fault) document.Value {
	return document.Mapping(document.Keys{
		{Name: "status", Value: document.Count(400, 599, func(n int64) { f.Status = int(n) })},
		{Name: "cut_after", Value: document.Count(0, maxCount, func(n int64) { f.cut, f.cutAfter = true, int(n) })},
		{Name: "retry_after", Value: document.Duration(func(d time.Duration) { f.RetryAfter, f.Asked = d, true })},
		{Name: "message", Value: document.Text(&f.Message)},
		{Name: "code", Value: document.Text(&f.Code)},
	}).Then(func(at document.Place) {
		if f.cut == (f.Status != 0) {
			at.Problem("has to have either a status or cut_after")
		}
	})
}

func callValue(c *call) document.Value {
	exact := func(text string) (wrong string) { // be it JSON or not
		c.arguments = value{{raw: text}}
		return ""
	}
	exact("{}")
	return document.Mapping(document.Keys{
		{Name: "id", Value: document.Text(&c.id)},
		{Name: "name", Value: document.Text(&c.name), Needed: "name the tool"},
		{Name: "arguments", Value: document.Either(
			document.TextThen(exact),
			document.Value{Read: c.arguments.read},
		)},
	})
}

func (v *value) read(at document.Place) {
	*v = nil
	for _, p := range at.Pieces() {
		if p.Text == nil {
			*v = append(*v, piece{raw: p.Raw})
			continue
		}
		q, err := quote(p.Text.Value)
		if err != nil {
			at.On(p.Text).Problem("%s", err)
		}
		*v = append(*v, piece{text: q})
	}
}

func (v value) render(s scene) (string, error) {
	var b bounded
	for _, p := range v {
		if p.text != nil {
			rendered, err := p.text.render(s)
			if err != nil {
				return "", err
			}
			p.raw = document.Encoded(rendered)
		}
		if _, err := fmt.Fprint(&b, p.raw); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}
