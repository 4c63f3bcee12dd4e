package scripted

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/template"

	"everstep/domain"
)

const maxText = domain.MaxMessage

// A scene is the conversation that a turn quotes from.
type scene []domain.Message

// quote prepares a text. Only what has {{ is a template.
func quote(text string) (*quoting, error) {
	if !strings.Contains(text, "{{") {
		return &quoting{plain: text}, nil
	}
	t, err := template.New("").Option("missingkey=error").Funcs(scene(nil).functions()).Parse(text)
	if err != nil {
		return nil, fmt.Errorf("the template cannot be read: %s", strings.TrimPrefix(err.Error(), "template: :"))
	}
	return &quoting{template: t}, nil
}

func (q *quoting) render(s scene) (string, error) {
	if q.template == nil {
		return q.plain, nil
	}
	t, err := q.template.Clone()
	if err != nil {
		return "", err
	}
	var out bounded
	if err := t.Funcs(s.functions()).Execute(&out, nil); err != nil {
		// The library says first at which place of the template.
		if _, reason, ok := strings.Cut(err.Error(), ">: "); ok {
			return "", errors.New(reason)
		}
		return "", err
	}
	return strings.ToValidUTF8(out.String(), "\uFFFD"), nil
}

type bounded struct{ strings.Builder }

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxText {
		return 0, fmt.Errorf("the text has more than %d bytes", maxText)
	}
	return b.Builder.Write(p)
}

func (s scene) functions() template.FuncMap {
	return template.FuncMap{
		"result":   s.result,
		"results":  s.results,
		"prompt":   s.prompt,
		"lines":    lines,
		"json":     decode,
		"trim":     strings.TrimSpace,
		"head":     head,
		"first":    func(list any) (any, error) { return pick(list, false) },
		"last":     func(list any) (any, error) { return pick(list, true) },
		"contains": func(part, text string) bool { return strings.Contains(text, part) },
		"join":     join,
	}
}

func (s scene) result(tool string) (any, error) {
	all := s.results(tool)
	if len(all) == 0 {
		return "", fmt.Errorf("tool %q has no result yet", tool)
	}
	return all[len(all)-1], nil
}

func (s scene) results(tool string) []any {
	var all []any
	for _, m := range s {
		if m.ToolResult != nil && m.ToolResult.Name == tool {
			all = append(all, m.ToolResult.Content)
		}
	}
	return all
}

func (s scene) prompt() (string, error) {
	for _, m := range slices.Backward(s) {
		if m.Role == domain.RoleUser {
			return m.Text(), nil
		}
	}
	return "", errors.New("the conversation has no prompt")
}

// lines splits a text; a last line end adds no empty line.
func lines(text string) (all []any) {
	if text = strings.TrimSuffix(strings.ReplaceAll(text, "\r\n", "\n"), "\n"); text == "" {
		return nil
	}
	for line := range strings.SplitSeq(text, "\n") {
		all = append(all, line)
	}
	return all
}

func decode(text string) (any, error) {
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return nil, fmt.Errorf("json: %w", err)
	}
	return v, nil
}

// items are those of a list that a function is given, whose name the library says.
func items(list any) ([]any, error) {
	if all, ok := list.([]any); ok {
		return all, nil
	}
	return nil, fmt.Errorf("%T is not a list", list)
}

func head(n int, list any) ([]any, error) {
	all, err := items(list)
	return all[:min(max(n, 0), len(all))], err
}

func pick(list any, last bool) (any, error) {
	all, err := items(list)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, errors.New("the list is empty")
	}
	if last {
		return all[len(all)-1], nil
	}
	return all[0], nil
}

func join(separator string, list any) (string, error) {
	all, err := items(list)
	texts := make([]string, len(all))
	for i, item := range all {
		texts[i] = fmt.Sprint(item)
	}
	return strings.Join(texts, separator), err
}
