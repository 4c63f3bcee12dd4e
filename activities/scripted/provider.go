package scripted

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"everstep/activities/inference"
	"everstep/domain"
)

// Name is the provider's name in a model's full name, as in scripted//tmp/a.yaml.
const Name = "scripted"

// A Provider plays scripts, and reads one again when its file has changed.
type Provider struct {
	mu      sync.Mutex
	scripts map[string]parsed
}

const maxScripts = 64

// endings are those of the names of scripts.
var endings = []string{".yaml", ".yml", ".json"}

type parsed struct {
	script   *script
	modified time.Time
	size     int64
}

// New returns a provider that has read nothing yet.
func New() *Provider { return &Provider{scripts: make(map[string]parsed)} }

// Check says where in a script a mistake is.
func (p *Provider) Check(_ context.Context, config domain.LLMConfig) error {
	_, err := p.load(config.Model)
	return err
}

// CheckFormat takes every format: a script answers what its file says.
func (p *Provider) CheckFormat(domain.LLMConfig, domain.ResponseFormat, bool) error { return nil }

// MinOutputTokens is the smallest bound of an answer.
func (p *Provider) MinOutputTokens() int64 { return 1 }

func (p *Provider) load(path string) (*script, error) {
	if !filepath.IsAbs(path) {
		return nil, notFound("script %q: is not an absolute path; write the model as %s/FILE with the file's full path", path, Name)
	}
	if !slices.Contains(endings, strings.ToLower(filepath.Ext(path))) {
		return nil, notFound("script %s: its name ends in none of %s, so it is not looked at", path, strings.Join(endings, ", "))
	}
	// Whoever asks may be anybody who reaches the namespace, and learns nothing else of the worker's files.
	unread := notFound("script %s: there is no such file that the worker can read; check the path", path)
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil, unread
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if known, ok := p.scripts[path]; ok && known.modified.Equal(info.ModTime()) && known.size == info.Size() {
		return known.script, nil
	}
	var data []byte
	file, err := os.Open(path)
	if err == nil {
		defer file.Close()
		data, err = io.ReadAll(io.LimitReader(file, maxScript+1))
	}
	if err != nil {
		return nil, unread
	}
	s, err := parse(path, data)
	if err != nil {
		return nil, err
	}
	if len(p.scripts) >= maxScripts {
		clear(p.scripts)
	}
	p.scripts[path] = parsed{s, info.ModTime(), info.Size()}
	return s, nil
}

func notFound(format string, args ...any) error {
	return domain.CodedErrorf(domain.Invalid, domain.CodeModelNotFound, format, args...).From(Name)
}

// Infer plays the turn that the call is at, or a summary, which takes no turn.
func (p *Provider) Infer(ctx context.Context, call inference.Call, emit func(inference.Delta)) (inference.Answer, error) {
	s, err := p.load(call.Config.Model)
	if err != nil {
		return inference.Answer{}, err
	}
	t, err := s.at(call)
	if err != nil {
		return inference.Answer{}, err
	}
	text, calls, err := t.renderWithin(ctx, call.Messages, call.Inference)
	if ctx.Err() != nil {
		return inference.Answer{Partial: true}, domain.Errorf(domain.Unavailable, "%s: %s", Name, context.Cause(ctx)).From(Name)
	}
	if err != nil {
		return inference.Answer{}, domain.Invalidf("script %s:%d: turn %d: %s", s.path, t.line, call.Inference+1, err).From(Name)
	}
	if t.json != nil && call.OutputTool != "" {
		// What a model makes of its JSON where a tool stands for the response format.
		id := fmt.Sprintf("call_%d_%d", call.Inference, len(calls))
		calls, text = append(calls, domain.ToolCall{ID: id, Name: call.OutputTool, Arguments: text}), ""
		if t.finish == domain.FinishStop {
			t.finish = domain.FinishToolCalls
		}
	}
	if call.Sent != nil {
		call.Sent()
	}
	show := performance{turn: t, text: []rune(text), calls: calls, emit: emit}
	if k := call.Attempt - 1; k >= 0 && k < len(t.failures) {
		return show.fail(ctx, t.failures[k], call.Config)
	}
	if err := show.play(ctx, len(show.text)); err != nil {
		return show.partial(), err
	}
	kind := ""
	if call.Summary {
		kind = "summary_"
	}
	id := fmt.Sprintf("scripted_%s%d", kind, call.Inference) // the same whoever plays the turn
	return inference.Answer{
		Message:  inference.AssistantMessage(inference.PartialMessage(t.reasoning, "").Parts, text, calls),
		Response: domain.Response{ID: id, Model: filepath.Base(s.path), Finish: t.finish, Usage: t.usage},
	}, nil
}

// renderWithin leaves a template that loops without end to itself.
func (t turn) renderWithin(ctx context.Context, s scene, inferenceNumber int) (string, []domain.ToolCall, error) {
	var text string
	var calls []domain.ToolCall
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		text, calls, err = t.render(s, inferenceNumber)
	}()
	select {
	case <-done:
		return text, calls, err
	case <-ctx.Done():
		return "", nil, context.Cause(ctx)
	}
}

func (t turn) render(s scene, inferenceNumber int) (string, []domain.ToolCall, error) {
	text, err := t.text.render(s)
	if err != nil {
		return "", nil, err
	}
	if t.json != nil {
		if text, err = t.json.render(s); err != nil {
			return "", nil, fmt.Errorf("json: %w", err)
		}
	}
	calls := make([]domain.ToolCall, len(t.calls))
	for k, c := range t.calls {
		calls[k] = domain.ToolCall{ID: cmp.Or(c.id, fmt.Sprintf("call_%d_%d", inferenceNumber, k)), Name: c.name}
		if calls[k].Arguments, err = c.arguments.render(s); err != nil {
			return "", nil, fmt.Errorf("call of %s: %w", c.name, err)
		}
	}
	return text, calls, nil
}

type performance struct {
	turn  turn
	text  []rune
	calls []domain.ToolCall
	emit  func(inference.Delta)
	shown int
}

// play streams the first end characters evenly over the turn's delay: one piece
// in 50 ms, and 20 at least.
func (p *performance) play(ctx context.Context, end int) error {
	pieces := 1
	if p.turn.delay > 0 {
		pieces = max(20, int(min(p.turn.delay/(50*time.Millisecond), 10_000)))
	}
	if p.turn.reasoning != "" {
		p.emit(inference.Delta{Reasoning: p.turn.reasoning})
	}
	if len(p.text) == 0 {
		p.begin()
	}
	start := time.Now()
	for k := 1; k <= pieces; k++ {
		select {
		case <-ctx.Done():
			cut := domain.Errorf(domain.Unavailable, "%s: the answer was cut off: %s", Name, context.Cause(ctx)).From(Name)
			cut.Billed = true
			return cut
		case <-time.After(time.Until(start.Add(p.turn.delay * time.Duration(k) / time.Duration(pieces)))):
		}
		if next := min(len(p.text)*k/pieces, end); next > p.shown {
			p.emit(inference.Delta{Text: string(p.text[p.shown:next])})
			p.shown = next
		}
		if p.shown == end && end < len(p.text) {
			return nil
		}
	}
	if len(p.text) > 0 {
		p.begin()
	}
	return nil
}

// begin tells of the calls, which follow the text.
func (p *performance) begin() {
	for _, c := range p.calls {
		p.emit(inference.Delta{Tool: c.Name})
	}
}

// fail ends an inference as a fault of the script wants it: refused before any text, or cut off after some of it, which is billed.
func (p *performance) fail(ctx context.Context, f fault, config domain.LLMConfig) (inference.Answer, error) {
	if !f.cut {
		return inference.Answer{Partial: true}, f.Error(config)
	}
	if err := p.play(ctx, min(f.cutAfter, len(p.text))); err != nil {
		return p.partial(), err
	}
	message := cmp.Or(f.Message, "the stream ended before the answer was whole")
	e := domain.CodedErrorf(domain.Unavailable, domain.CodeMalformed, "%s: %s", Name, message).From(Name)
	e.Billed, e.RetryAfter = true, f.RetryAfter
	return p.partial(), e
}

func (p *performance) partial() inference.Answer {
	return inference.Answer{Message: inference.PartialMessage(p.turn.reasoning, string(p.text[:p.shown])), Partial: true}
}
