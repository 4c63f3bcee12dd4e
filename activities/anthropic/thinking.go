package anthropic

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"

	"everstep/domain"
)

const (
	// bindingBeta is the beta in which blockBinding can be sent.
	bindingBeta = "thinking-binding-controls-2026-08-01"
	// blockBinding lets the API leave out a thought that is no longer in its place.
	blockBinding = `{"prefix_mismatch_behavior":"drop_block"}`
)

// bindingFrom finds the version in a model's name; a number with more than two digits is a date.
var bindingFrom = regexp.MustCompile(`^claude-([^-]*[^-0-9][^-]*)-(\d{1,2})(?:-(\d{1,2}))?(?:-|$)`)

// binds reports whether a model refuses its own thoughts once something before them was summed
// up, shortened, or the tools are others. Such a model thinks unless told not to, and cannot
// be made to call a tool meanwhile.
func binds(model string) bool {
	found := bindingFrom.FindStringSubmatch(model)
	if found == nil {
		return false
	}
	major, _ := strconv.Atoi(found[2])
	minor, _ := strconv.Atoi(found[3]) // zero where there is none
	first := 5
	if found[1] == "fable" || found[1] == "mythos" {
		first = 1
	}
	return major > 5 || major == 5 && minor >= first
}

// disabled reports whether the options say that the model is not to think.
func (o *options) disabled() bool { return string(o.thinking["type"]) == `"disabled"` }

// bind asks for thoughts to be left out that are not in their place, where the options are silent.
func (o *options) bind() {
	if o.disabled() || o.thinking["block_binding"] != nil {
		return
	}
	o.thinking = maps.Clone(o.thinking)
	if o.thinking == nil {
		o.thinking = map[string]json.RawMessage{"type": json.RawMessage(`"adaptive"`)}
	}
	o.thinking["block_binding"] = json.RawMessage(blockBinding)
	if !slices.Contains(o.betas, bindingBeta) {
		o.betas = append(slices.Clip(o.betas), bindingBeta)
	}
}

// thoughtful reports whether a conversation holds thoughts that are sent back.
func thoughtful(messages []domain.Message) bool {
	return slices.ContainsFunc(messages, func(m domain.Message) bool {
		return slices.ContainsFunc(m.Parts, func(p domain.Part) bool {
			k := readKept(p)
			return k.Thinking && p.Signature != "" || bytes.Contains(k.Block, []byte(`"redacted_thinking"`))
		})
	})
}
