package anthropic

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/activities/output"
	"everstep/domain"
)

// Name is the provider's name in a model's full name, as in anthropic/claude-sonnet-4-5.
const Name = "anthropic"

const maxTokens = "max_tokens"

// API is Anthropic's Messages. The base URL is the server's with or without the /v1 at its end.
func API() wire.API {
	return wire.API{
		Name: Name, Server: "https://api.anthropic.com", Title: "Anthropic's Messages", Variables: "ANTHROPIC",
		// Tools that the server runs would cost what no budget knows of.
		Reserved: strings.Fields("messages model stream system tools"),
		Objects:  []string{"output_config", "thinking"},
		Bounds:   []string{maxTokens},
		Formats:  []string{"output_config.format"},
		Options: func(given domain.Metadata) error {
			_, err := readOptions(given)
			return err
		},
		CheckFormat: checkFormat, Schema: output.Flat, Prepare: prepare,
	}
}

func prepare(a *wire.Attempt, call inference.Call) (wire.Request, wire.Decoder, error) {
	given, _ := readOptions(call.Config.Options) // they were checked
	if binds(call.Config.Model) && thoughtful(call.Messages) {
		given.bind()
	}
	a.Bound = given.fit(a.Bound)
	header := a.KeyIn("X-Api-Key", "")
	header.Set("Anthropic-Version", "2023-06-01") // it fixes the form of requests and answers
	if len(given.betas) > 0 {
		header.Set("Anthropic-Beta", strings.Join(given.betas, ","))
	}
	from := a.Base.Host + " " + call.Config.Model
	path := "v1/messages"
	if strings.HasSuffix(strings.TrimRight(a.Base.Path, "/"), "/v1") {
		path = "messages"
	}
	body, err := encode(call, given, a.Bound, from)
	return wire.Request{Path: path, Header: header, Body: body}, &assembly{Attempt: a, from: from, open: map[wire.Text]*block{}, usage: wire.Usage{}}, err
}

// minThinking is the smallest budget of thinking that the API accepts.
const minThinking = 1024

// options are those of a model that mean something here.
type options struct {
	// thinks says that thinking is asked for, with a budget of tokens or, without one, as the
	// model likes.
	thinks bool
	budget int64
	// thinking are the fields of that option.
	thinking map[string]json.RawMessage
	betas    []string
	// caches says that the user places the marks for the prompt cache, or wants none.
	caches bool
	rest   domain.Metadata
}

// readOptions says what is wrong with the options of a model, or reads them. One that is null leaves its field out.
func readOptions(given domain.Metadata) (o options, err error) {
	wrong := ""
	_, o.caches = given["cache_control"]
	if list := given["betas"]; list != nil && json.Unmarshal(list, &o.betas) != nil {
		wrong = "betas is not a list of names"
	}
	if slices.ContainsFunc(o.betas, func(name string) bool { return wire.ToolName(name, len(name), ".") != name }) {
		wrong = "betas has a name with characters that no name has"
	}
	o.thinking = wire.Object(given["thinking"]) // it was checked, or is none
	if o.thinking != nil {
		o.thinks = !o.disabled()
		if budget := o.thinking["budget_tokens"]; !wire.IsNull(budget) && (json.Unmarshal(budget, &o.budget) != nil || o.budget < minThinking) {
			wrong = "thinking has a budget_tokens that is not a whole number from 1024 on"
		}
	}
	if wrong != "" {
		return options{}, domain.Invalidf("options: %s", wrong)
	}
	o.rest = maps.Clone(given)
	maps.DeleteFunc(o.rest, func(key string, value json.RawMessage) bool {
		return wire.IsNull(value) || slices.Contains([]string{maxTokens, "thinking", "betas"}, key)
	})
	return o, nil
}

// fit returns the most tokens of an answer. A budget of thinking that does not fit into them shrinks, or thinking is left out.
func (o *options) fit(bound int64) int64 {
	switch {
	case bound == 0:
		return 8192 + o.budget
	case o.budget < bound:
	case bound/2 >= minThinking:
		o.thinking["budget_tokens"] = strconv.AppendInt(nil, bound/2, 10)
	default:
		o.thinking = nil
	}
	return bound
}

// bindingBeta is the beta in which a block_binding can be sent.
const bindingBeta = "thinking-binding-controls-2026-08-01"

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

func (o *options) disabled() bool { return string(o.thinking["type"]) == `"disabled"` }

// bind asks for thoughts to be left out that are not in their place, where the options are silent.
func (o *options) bind() {
	if o.disabled() || o.thinking["block_binding"] != nil {
		return
	}
	if o.thinking == nil {
		o.thinking = map[string]json.RawMessage{"type": json.RawMessage(`"adaptive"`)}
	}
	o.thinking["block_binding"] = json.RawMessage(`{"prefix_mismatch_behavior":"drop_block"}`)
	if !slices.Contains(o.betas, bindingBeta) {
		o.betas = append(o.betas, bindingBeta)
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
