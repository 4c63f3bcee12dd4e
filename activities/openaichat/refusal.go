package openaichat

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
)

// What servers refuse beside fields, which are called by their names.
const (
	// freeRoles: the roles have to take turns, behind the instructions, and the model may not have the last word.
	freeRoles = "free roles"
	// noContent: a message of calls alone has to have a content, be it empty.
	noContent = "no content"
	// emptyContent: that content has to be a text.
	emptyContent = "empty content"
	// noReasoning: each message of the model has to have the field of its reasoning, be there none.
	noReasoning = "no " + reasoningContent
	// freeIDs: the ids of calls have to have nine letters and digits.
	freeIDs = "free ids"
	// developer and system are roles.
	developer = "developer"
	system    = "system"
)

const (
	strict = "strict"
	stream = "stream"
	effort = "reasoning_effort"

	reasoningContent = "reasoning_content"
	reasoning        = "reasoning"
	reasoningDetails = "reasoning_details"
)

// needed are fields without which a request would be another, or none.
var needed = wire.Names("arguments content function id messages model response_format role tool_call_id tool_calls tools type")

// A complaint is one thing that a server says about a request.
type complaint struct {
	// path is the place that it names, if it does, and text is all that it says.
	path []string
	text string
}

// complaints reads an error's body in any form, JSON within texts too. What the server repeats of the request is left out.
func complaints(body []byte) []complaint {
	var value any
	text := strings.TrimSpace(string(body))
	switch err := json.Unmarshal(body, &value); {
	case err == nil:
		return complain(value)
	case strings.HasPrefix(text, "{"), strings.HasPrefix(text, "[") && !strings.HasPrefix(text, "[{'"), strings.HasPrefix(text, "<") && strings.HasSuffix(text, ">"):
		return nil // it was cut, or is a page
	}
	text, _, _ = strings.Cut(unquoted.Replace(text), "'input':")
	return []complaint{{text: text}}
}

// unquoted makes all quotes one.
var unquoted = strings.NewReplacer("`", "'", `"`, "'")

// The keys by which servers name a place in the request, and those of what they repeat of it.
var (
	ofPlaces  = wire.Names("loc path param parameter field pointer instancePath property additionalProperty")
	repeating = wire.Names("input url ctx value")
)

func complain(value any) (all []complaint) {
	switch v := value.(type) {
	case []any:
		for _, one := range v {
			all = append(all, complain(one)...)
		}
	case string:
		all = complaints([]byte(v))
	case map[string]any:
		var own complaint
		for _, key := range slices.Sorted(maps.Keys(v)) {
			switch {
			case repeating[key]:
			case ofPlaces[key]:
				own.path = append(own.path, strings.FieldsFunc(fmt.Sprint(v[key]), func(r rune) bool { return strings.ContainsRune(" .[]/#'", r) })...)
			default:
				for _, one := range complain(v[key]) {
					_, isText := v[key].(string)
					switch {
					case one.text == "":
						own.path = append(own.path, one.path...)
					case isText && one.path == nil:
						own.text += one.text + "\n"
					case one.path == nil:
						all = append(all, complaint{[]string{key}, one.text})
					default:
						all = append(all, one)
					}
				}
			}
		}
		all = append(all, own)
	}
	return all
}

// learn is wire.API's Learn. It looks for the fields of a request, its messages and their calls that may be left out.
func learn(body, refusal []byte) (lessons []string, told string) {
	names := wire.Object(body)
	names[strict] = nil
	var messages []wire.Extra
	_ = json.Unmarshal(names["messages"], &messages) // it is ours
	for _, m := range messages {
		maps.Copy(names, m)
		for _, call := range wire.ListOf(m["tool_calls"]) {
			fields := wire.Object(call)
			maps.Copy(names, fields)
			maps.Copy(names, wire.Object(fields[inFunction]))
		}
	}
	maps.DeleteFunc(names, func(name string, _ json.RawMessage) bool { return needed[name] })
	fields := slices.Sorted(maps.Keys(names))
	var differs []string
	for _, c := range complaints(refusal) {
		if lesson, told := c.lesson(messages, fields); lesson != "" && !slices.Contains(lessons, lesson) {
			lessons, differs = append(lessons, lesson), append(differs, told)
		}
	}
	return lessons, strings.Join(differs, " and ")
}

func (c complaint) lesson(messages []wire.Extra, fields []string) (lesson, told string) {
	content := func(text string) bool {
		return slices.ContainsFunc(messages, func(m wire.Extra) bool { return string(m["role"]) == `"assistant"` && string(m["content"]) == text })
	}
	refuses, lacks := c.says(refusing) || c.says(absent) && !c.says(orAbsent) || c.says(invalid) && !c.says(values), c.says(lacking)
	field, saysContent := "", (lacks || refuses) && (slices.Contains(c.path, "content") || contentWord.MatchString(c.text))
	if refuses && !c.says(excess) {
		field = c.field(fields)
	}
	if otherBound[field] != "" && !c.says(refusing) {
		return "", "" // the other name might not be read, and nothing would bound an answer
	}
	switch {
	case c.says(thoughts) && lacks && !refuses:
		return noReasoning, "with " + reasoningContent + " in each message of the model"
	case c.says(ids):
		return freeIDs, "with ids of calls of nine letters"
	case refuses && c.says(developers):
		return developer, "with the role system in place of developer"
	case refuses && c.says(systems):
		return system, "with its instructions in a message of the user"
	case field != "":
		return field, toldOf(field)
	case refuses && c.says(streams) && slices.Contains(fields, stream):
		return stream, toldOf(stream)
	case refuses && c.says(thinks) && slices.Contains(fields, effort):
		return effort, toldOf(effort)
	case saysContent && content(""):
		return noContent, "with a content in each message of the model"
	case saysContent && content(`""`):
		return emptyContent, "with a text in each message of the model"
	}
	if c.says(speakers) && c.says(disorder) && !c.says(pairs) {
		return freeRoles, "with roles that take turns"
	}
	return "", ""
}

// contentWord finds the content of a message where a text names it.
var contentWord = regexp.MustCompile(`(?i)\bcontent\b(?:[^-]|$)|\bmessage\b.* must not be empty|nonetype`)

// toldOf says how a request is without a field.
func toldOf(field string) string {
	if other := otherBound[field]; other != "" {
		return "with " + other + " in place of " + field
	}
	return "without " + field
}

// absence is how servers say that a field has to be absent.
const absence = `(?:(?:must|should|ha(?:s|ve) to|needs? to) be (?:disabled|removed|omitted|unset|absent|null|left out)|(?:must|should|may|can)(?: ?no|n')t be (?:set|given|provided|specified|present|used|included|sent|passed))(?:[.;!\n]|$| (?:for|by|with|in) th(?:e|is) (?:\S+ )?(?:model|server|api|endpoint|deployment)\b)`

// What servers say of a request, in lower case and with one kind of quotes: that they do not take something, that it is only
// too much or too little of it, that something is missing or nothing, and that roles come in a wrong order.
var (
	refusing = inference.Words(`
		unsupported
		n[o']t (?:yet |currently )?(?:support|accept|implemented|available|recogni[sz]ed|permitted|allowed|compatible)
		unrecogni[sz]ed
		should not exist
		cannot use tools
		(?:system|developer)'? is not one of
		unknown
		unexpected (?:keyword|field|property|parameter|argument)
		invalid role
		forbidden
		cannot find field
		additional propert
		no longer
		incompatible
		please remove
		must be verified
		no such
		is allowed
		deprecated
		cannot both
		may only be
		supported (?:string )?value
		roles are supported
		no endpoints found that support`)
	// A field that has to be absent is not taken, unless that is said of some values alone, or something else would do.
	absent   = inference.Words(absence)
	orAbsent = inference.Words(`\bor (?:it |else |otherwise )?` + absence)
	// A field that is invalid is not taken, unless the words are of its value.
	invalid  = inference.Words(`not valid|invalid (?:field|parameter|argument|key)`)
	values   = inference.Words(`must|should|between|range|in \[|[<>≤≥]|not among|none of`)
	excess   = inference.Words(`too (?:large|high|long|many)|at most|(?:more|greater|less) than|exceed|maximum|minimum|out of range|set (?:above|below|higher|lower|over|beyond)|(?:above|beyond) \d`)
	lacking  = inference.Words(`required|missing|(?:must|should|not|can't) be|expected|is empty|not empty|must have|not of type|type mismatch|nonetype|<nil>`)
	disorder = inference.Words(`
		alternat
		after role
		unexpected (?:message )?role
		last role
		must (?:be followed|start|begin|end|be from|be a user|have role)
		should start
		exception of an initial
		consecutive
		in a row
		order
		at the (?:beginning|end)
		no user
		successive
		comes immediately after
		cannot (?:directly )?follow
		prefill`)
	speakers = inference.Words(`role|(?:system|user|assistant|tool|last|first) message|user query|user turn|multiturn|prefill`)
	thoughts = inference.Words(reasoningContent)
	streams  = inference.Words(`streaming|\bstream mode|with stream\b`)
	thinks   = inference.Words(`\bthink(?:ing)?\b`)
	pairs    = inference.Words(`tool_call_id`)
	ids      = inference.Words(`tool call ids? .*length(?: of)? 9\b`)
	// The ways in which servers name a role that they do not know.
	developers = inference.Words(`(?:support|variant|value:|role:?) '?developer|developer'? (?:role|is not one of)`)
	systems    = inference.Words(`(?:support|variant|value:|role:?) '?system|system'? (?:role|is not one of)|only user and assistant roles`)
)

// says reports whether one of the words is in the text, whatever its case.
func (c complaint) says(words *regexp.Regexp) bool { return words.MatchString(strings.ToLower(c.text)) }

// field is the one of some that the complaint is about: the innermost on its path, else the first that the text names.
func (c complaint) field(fields []string) string {
	for _, step := range slices.Backward(c.path) {
		if slices.Contains(fields, step) {
			return step
		}
	}
	first, found := len(c.text), ""
	for _, field := range fields {
		if at := spelling(field).FindStringIndex(c.text); at != nil && at[0] < first {
			first, found = at[0], field
		}
	}
	return found
}

// inCamel finds what is written in another way by servers that have fields as maxTokens.
var inCamel = regexp.MustCompile("_.")

// spelling finds where a text names a field and no word of the language: a name without an underline has to be in quotes,
// in a path or behind a word that says what it is.
func spelling(field string) *regexp.Regexp {
	camel := inCamel.ReplaceAllStringFunc(field, func(found string) string { return strings.ToUpper(found[1:]) })
	name := `(?:` + regexp.QuoteMeta(field) + `|` + regexp.QuoteMeta(camel) + `)\b`
	if strings.Contains(field, "_") {
		return regexp.MustCompile(`\b` + name)
	}
	return regexp.MustCompile(`(?m:^` + name + `(?:[:=]|$| is an? ))|(?m:: ` + name + `(?:$|,| is))|(?:['.\[\]]|-> |\b(?i:arguments?|parameters?|property|fields?|supplied|keys?|inputs?|options?|invalid):? +)` + name + `|\b` + name + `(?:=| (?:parameter|field|argument|property)\b)`)
}
