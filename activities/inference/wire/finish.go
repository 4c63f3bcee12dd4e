package wire

import (
	"cmp"
	"regexp"
	"strings"

	"everstep/domain"
)

// Unnamed is the finish word of an answer in one piece whose server gave none.
const Unnamed = "none"

// finishWords find those by which APIs say why a model stopped, in small letters and without what stands between their parts.
var finishWords = map[domain.FinishReason]*regexp.Regexp{
	domain.FinishStop:          regexp.MustCompile(`^(?:stop|toolcalls?|functioncall|tooluse|eos(?:token)?|stoptoken|endturn|stopsequence|completed?|end|done|normal|` + Unnamed + `)$`),
	domain.FinishLength:        regexp.MustCompile(`^(?:length|max(?:output|new)?tokens|m(?:odel|ax)length|tokenlimit|errorlimit|continuation|truncated)$`),
	domain.FinishContentFilter: regexp.MustCompile(`filter|guardrail|toxic|armor|sensitive|safety|recitation|block|prohibited|spii|moderat|flagged`),
	domain.FinishRefusal:       regexp.MustCompile(`^refusal$`),
}

// The words for an answer that failed, in which the model called tools as none can be called, or that had no room.
var (
	failing    = regexp.MustCompile(`(?i)error|fail|abort|cancel|time[_ -]?out|exception|overload|insufficient[_ -]`)
	miswritten = regexp.MustCompile(`(?i)malformed[_ -]|unexpected[_ -]tool[_ -]call|too[_ -]many[_ -]tool[_ -]calls`)
	roomless   = regexp.MustCompile(`(?i)context[_ -]?(?:window|length)`)
)

// Broken is the error of an answer that ended with a word for its having failed, with what the API says beside it and what
// came; nil where the word is another.
func (a *Attempt) Broken(word, message string, body []byte) error {
	switch {
	case miswritten.MatchString(word):
		said := a.Redact(strings.TrimSuffix("("+word+"): "+message, ": "))
		return a.Fail(domain.Invalid, domain.CodeMalformed, body, "the model wrote a tool call that the provider could not read %s", domain.Shorten(said, 600))
	case failing.MatchString(word) && finishOf(word) == domain.FinishOther:
		r := ParseRejection(body)
		r.Begun, r.Message = true, cmp.Or(r.Message, word)
		return a.refused(r, body)
	}
	return nil
}

// finishOf is what a word alone says.
func finishOf(word string) domain.FinishReason {
	word, _, _ = strings.Cut(strings.ToLower(word), ":")
	word = strings.NewReplacer("_", "", "-", "", " ", "").Replace(word)
	for reason, words := range finishWords {
		if words.MatchString(word) {
			return reason
		}
	}
	return domain.FinishOther
}

// FinishReason reads the API's word for why the model stopped. Where the word is that it merely ended, or is not known, what
// the answer holds decides: calls, the last of which the token limit may have cut, or a refusal in words.
func (a *Attempt) FinishReason(word string, refused bool) domain.FinishReason {
	reason := finishOf(word)
	ended := reason == domain.FinishStop
	switch {
	case !ended && reason != domain.FinishOther:
		return reason
	case a.Cut(a.Bound):
		return domain.FinishLength
	case a.Called():
		return domain.FinishToolCalls
	case ended && refused:
		return domain.FinishRefusal
	}
	return reason
}
