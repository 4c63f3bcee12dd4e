package domain

import (
	"cmp"
	"encoding"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// CheckPrompt says what is wrong with a message of the user.
func CheckPrompt(prompt string) error {
	if strings.TrimSpace(prompt) == "" {
		return Invalidf("prompt: is empty; say what the agent is to do")
	}
	if err := CheckText("prompt", prompt, MaxMessage); err != nil {
		return err
	}
	if n := encodedLen(prompt); n > MaxPrompt {
		return TooLargef("prompt: takes %d bytes when encoded; at most %d are allowed", n, MaxPrompt)
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
		return Invalidf("model: has no provider; write it as provider/model")
	case d.Model.Model == "":
		return Invalidf("model: has no name; write it as provider/model")
	}
	if d.Compiler == SelectedSections && len(d.Sections) == 0 {
		return Invalidf("sections: is empty; compiler selected_sections needs the names of those to show")
	}
	if wrong := CheckBaseURL(d.Model.BaseURL); d.Model.BaseURL != "" && wrong != "" {
		return Invalidf("base_url: %s", wrong)
	}
	blank := func(name string) bool { return strings.TrimSpace(name) == "" }
	if slices.ContainsFunc(d.Tools, blank) {
		return Invalidf("tool: is empty; give the name of a tool")
	}
	if slices.ContainsFunc(d.Hooks, blank) {
		return Invalidf("hooks: one is empty; give the name of a hook")
	}
	for i, name := range d.ShowTrusted {
		switch err := CheckTrustedName(name); {
		case err != nil:
			return Invalidf("show_trusted: %s", err)
		case slices.Contains(d.ShowTrusted[:i], name):
			return Invalidf("show_trusted: %q is named twice; name it once", name)
		}
	}
	for i, f := range d.Fallbacks {
		if err := (Definition{Model: f.Model}).Check(); err != nil {
			return Invalidf("fallbacks[%d]: %s", i, err)
		}
		if err := checkWords(f.On); err != nil {
			return invalid(inItem("fallbacks", i, in("on", err)))
		}
	}
	if _, err := keep(d.Format); err != nil {
		return invalid(in("response_format", err))
	}
	if err := d.SessionBudget.CheckSession(); err != nil {
		return Invalidf("session_budget.%s", AsError(err).Message)
	}
	price := cmp.Or(d.Model.Price, &Price{})
	return cmp.Or(d.checkNegative(), CheckText("model", d.Model.String(), MaxReason), CheckText("system prompt", d.SystemPrompt, MaxSystemPrompt),
		price.Check(), d.Approvals.Check(), d.Guards.Check(), d.Compaction.Check(), d.Budget.Check(), d.checkSubagents())
}

// checkNegative refuses numbers and times below zero, but for those of parts that say what they may be.
func (d Definition) checkNegative() error {
	apart := []reflect.Kind{reflect.Map, reflect.Pointer, reflect.Slice}
	return invalid(walk(&d, walker{
		passes: func(v reflect.Value) bool {
			return slices.Contains(apart, v.Kind()) || v.Type() == reflect.TypeFor[Compaction]()
		},
		visit: func(v reflect.Value) error {
			if v.CanInt() && v.Int() < 0 {
				return Invalidf("is %v; it may not be negative", v)
			}
			return nil
		},
	}))
}

// CheckWord says of a word that an enum does not have which ones it has.
func CheckWord[E ~string, P interface {
	*E
	encoding.TextUnmarshaler
}](word E) error {
	return invalid(P(new(E)).UnmarshalText([]byte(word)))
}

// CheckText says of a text that is too long, or is not UTF-8, what is wrong with it.
func CheckText(field, text string, limit int) error {
	if len(text) > limit {
		return TooLargef("%s: has %d bytes; at most %d are allowed", field, len(text), limit)
	}
	if !utf8.ValidString(text) {
		return Invalidf("%s: is not valid UTF-8; convert it", field)
	}
	return nil
}
