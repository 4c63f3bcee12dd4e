package domain

import (
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"
)

// CheckPrompt says what is wrong with a message of the user: it has text, is
// UTF-8, and is at most MaxMessage bytes.
func CheckPrompt(prompt string) error {
	if strings.TrimSpace(prompt) == "" {
		return Errorf(Invalid, "prompt: is empty; say what the agent is to do")
	}
	if err := checkText("prompt", prompt, MaxMessage); err != nil {
		return err
	}
	if n := encodedLen(prompt); n > MaxPrompt {
		return Errorf(TooLarge, "prompt: takes %d bytes when encoded; at most %d are allowed", n, MaxPrompt)
	}
	return nil
}

// CheckBaseURL says what is wrong with a model's base URL, empty where nothing
// is. It repeats none of a text that may hold a password.
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

// Check says what is wrong with a definition, as far as that can be told
// without a worker.
func (d Definition) Check() error {
	switch {
	case d.Model.Provider == "":
		return Errorf(Invalid, "model: has no provider; write it as provider/model")
	case d.Model.Model == "":
		return Errorf(Invalid, "model: has no name; write it as provider/model")
	case d.Model.MaxOutputTokens < 0:
		return Errorf(Invalid, "max_output_tokens: is %d; it may not be negative", d.Model.MaxOutputTokens)
	case d.Model.ContextWindow < 0:
		return Errorf(Invalid, "context_window: is %d; it may not be negative", d.Model.ContextWindow)
	case d.Attempts < 0:
		return Errorf(Invalid, "attempts: is %d; it may not be negative", d.Attempts)
	case d.InferenceTimeout < 0:
		return Errorf(Invalid, "inference_timeout: is %s; it may not be negative", d.InferenceTimeout)
	}
	if d.Compiler == SelectedSections && len(d.Sections) == 0 {
		return Errorf(Invalid, "sections: is empty; compiler selected_sections needs the names of those to show")
	}
	if err := checkText("model", d.Model.String(), MaxReason); err != nil {
		return err
	}
	if text := d.Model.BaseURL; text != "" {
		if wrong := CheckBaseURL(text); wrong != "" {
			return Errorf(Invalid, "base_url: %s", wrong)
		}
	}
	if err := checkText("system prompt", d.SystemPrompt, MaxSystemPrompt); err != nil {
		return err
	}
	for _, name := range d.Tools {
		if strings.TrimSpace(name) == "" {
			return Errorf(Invalid, "tool: is empty; give the name of a tool")
		}
	}
	for _, name := range d.Hooks {
		if strings.TrimSpace(name) == "" {
			return Errorf(Invalid, "hooks: one is empty; give the name of a hook")
		}
	}
	if d.ToolTimeout < 0 {
		return Errorf(Invalid, "tool_timeout: is %s; it may not be negative", d.ToolTimeout)
	}
	if t := d.Model.Timeouts; t.Connect < 0 || t.FirstByte < 0 || t.Idle < 0 {
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
	if p := d.Model.Price; p != nil {
		if err := p.Check(); err != nil {
			return err
		}
	}
	if _, err := d.Format.kept(); err != nil {
		return invalid(err)
	}
	if err := d.Guards.Check(); err != nil {
		return err
	}
	if err := d.Compaction.Check(); err != nil {
		return err
	}
	return d.Budget.Check()
}

func checkText(field, text string, limit int) error {
	if len(text) > limit {
		return Errorf(TooLarge, "%s: has %d bytes; at most %d are allowed", field, len(text), limit)
	}
	if !utf8.ValidString(text) {
		return Errorf(Invalid, "%s: is not valid UTF-8; convert it", field)
	}
	return nil
}
