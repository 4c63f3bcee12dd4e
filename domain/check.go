package domain

import (
	"cmp"
	"encoding"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// CheckPrompt says what is wrong with a message of the user.
func CheckPrompt(prompt string) error {
	if strings.TrimSpace(prompt) == "" {
		return Errorf(Invalid, "prompt: is empty; say what the agent is to do")
	}
	if err := CheckText("prompt", prompt, MaxMessage); err != nil {
		return err
	}
	if n := encodedLen(prompt); n > MaxPrompt {
		return Errorf(TooLarge, "prompt: takes %d bytes when encoded; at most %d are allowed", n, MaxPrompt)
	}
	return nil
}

// CheckBaseURL says what is wrong with a base URL, if anything. It repeats no text that may hold a password.
func CheckBaseURL(text string) string {
	u, err := url.Parse(text)
	shown, _, _ := strings.Cut(text, "?")
	switch {
	case err == nil && u.User != nil, err != nil && strings.Contains(text, "@"):
		return "holds a user or password; keys are found on the worker alone, so leave them out"
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return fmt.Sprintf("%q is no address; give one such as https://models.example.com/v1", Shorten(shown, 60))
	}
	return ""
}

// Check says what is wrong with a definition, as far as that can be told without a worker.
func (d Definition) Check() error {
	switch {
	case d.Model.Provider == "":
		return Errorf(Invalid, "model: has no provider; write it as provider/model")
	case d.Model.Model == "":
		return Errorf(Invalid, "model: has no name; write it as provider/model")
	}
	for _, field := range []struct {
		name     string
		negative bool
		value    any
	}{
		{"max_output_tokens", d.Model.MaxOutputTokens < 0, d.Model.MaxOutputTokens},
		{"context_window", d.Model.ContextWindow < 0, d.Model.ContextWindow},
		{"attempts", d.Attempts < 0, d.Attempts},
		{"inference_timeout", d.InferenceTimeout < 0, d.InferenceTimeout},
		{"tool_timeout", d.ToolTimeout < 0, d.ToolTimeout},
		{"idle_timeout", d.IdleTimeout < 0, d.IdleTimeout},
	} {
		if field.negative {
			return Errorf(Invalid, "%s: is %v; it may not be negative", field.name, field.value)
		}
	}
	if d.Compiler == SelectedSections && len(d.Sections) == 0 {
		return Errorf(Invalid, "sections: is empty; compiler selected_sections needs the names of those to show")
	}
	if err := CheckText("model", d.Model.String(), MaxReason); err != nil {
		return err
	}
	if wrong := CheckBaseURL(d.Model.BaseURL); d.Model.BaseURL != "" && wrong != "" {
		return Errorf(Invalid, "base_url: %s", wrong)
	}
	if err := CheckText("system prompt", d.SystemPrompt, MaxSystemPrompt); err != nil {
		return err
	}
	blank := func(name string) bool { return strings.TrimSpace(name) == "" }
	if slices.ContainsFunc(d.Tools, blank) {
		return Errorf(Invalid, "tool: is empty; give the name of a tool")
	}
	if slices.ContainsFunc(d.Hooks, blank) {
		return Errorf(Invalid, "hooks: one is empty; give the name of a hook")
	}
	for i, name := range d.ShowTrusted {
		switch err := CheckTrustedName(name); {
		case err != nil:
			return Errorf(Invalid, "show_trusted: %s", err)
		case slices.Contains(d.ShowTrusted[:i], name):
			return Errorf(Invalid, "show_trusted: %q is named twice; name it once", name)
		}
	}
	if t := d.Model.Timeouts; min(t.Connect, t.FirstByte, t.Idle) < 0 {
		return Errorf(Invalid, "timeouts: one is negative; give a time such as 30s, or leave it out")
	}
	for i, f := range d.Fallbacks {
		if err := (Definition{Model: f.Model}).Check(); err != nil {
			return Errorf(Invalid, "fallbacks[%d]: %s", i, err)
		}
		for _, on := range f.On {
			if err := new(Failure).UnmarshalText([]byte(on)); err != nil {
				return Errorf(Invalid, "fallbacks[%d].on: %s", i, err)
			}
		}
	}
	if _, err := d.Format.kept(); err != nil {
		return invalid(err)
	}
	if err := d.SessionBudget.CheckSession(); err != nil {
		return Errorf(Invalid, "session_budget.%s", AsError(err).Message)
	}
	price := cmp.Or(d.Model.Price, &Price{})
	return cmp.Or(price.Check(), d.Approvals.Check(), d.Guards.Check(), d.Compaction.Check(), d.Budget.Check(), d.checkSubagents())
}

// CheckWord says of a word that an enum does not have which ones it has.
func CheckWord[E ~string, P interface {
	*E
	encoding.TextUnmarshaler
}](word E) error {
	if err := P(new(E)).UnmarshalText([]byte(word)); err != nil {
		return Errorf(Invalid, "%v", err)
	}
	return nil
}

// CheckText says of a text that is too long, or is not UTF-8, what is wrong with it.
func CheckText(field, text string, limit int) error {
	if len(text) > limit {
		return Errorf(TooLarge, "%s: has %d bytes; at most %d are allowed", field, len(text), limit)
	}
	if !utf8.ValidString(text) {
		return Errorf(Invalid, "%s: is not valid UTF-8; convert it", field)
	}
	return nil
}
