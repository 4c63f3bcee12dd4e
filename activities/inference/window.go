package inference

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// windows find the most tokens that a provider takes where it refuses a conversation, in the words of its message.
var windows = [...]*regexp.Regexp{
	regexp.MustCompile(`(?:n_ctx|max_seq_len|max_model_len)\W{0,4}([0-9][0-9,_]*)`),
	regexp.MustCompile(`[0-9](?: tokens?)? > ?([0-9][0-9,_]*)`),
	regexp.MustCompile(`(?:max|maximum|available|model's) (?:allowed )?(?:context|model|prompt|input|sequence|number of tokens)[a-z ]{0,30}[^\w\n-]{0,3}([0-9][0-9,_]*)`),
	regexp.MustCompile(`([0-9][0-9,_]*)(?: tokens?)? (?:max|maximum) (?:context|prompt|input)`),
	regexp.MustCompile(`context (?:window|length|size|limit)[a-z ']{0,30}[^\w\n-]{0,3}([0-9][0-9,_]*)`),
	regexp.MustCompile(`(?:length should be \[[0-9]+, |(?:cannot exceed|exceeds?|must be <=|less than|at most|up to|(?:limit|maximum)(?: of| is)?:?|max) )([0-9][0-9,_]*)`),
}

// ofBytes follows a number that is none of tokens.
var ofBytes = regexp.MustCompile(`^ ?(?:[kmg]i?b|bytes?|char(?:s|acters?)?|messages?|images?|pages?)\b`)

// thousands find a number that counts them.
var thousands = regexp.MustCompile(`([0-9]) ?k\b`)

// noWindow is a number that stands alone in parentheses, as the codes of some errors do, or bounds the answer alone.
var noWindow = regexp.MustCompile(`\([0-3]?[0-9]{1,3}\)|(?:^|[.:;,(\n])\W{0,3}max[ _](?:(?:completion|output|new)_)?tokens\W? (?:is|must|should|cannot)[\w<= ]{0,20} [0-9][0-9,_]*`)

// window is the model's as the provider names it, or what one request may have. Zero: it does not.
func (r Rejection) window() int64 {
	text := thousands.ReplaceAllString(noWindow.ReplaceAllString(strings.ToLower(r.Message+"\n"+r.Hint), ""), "${1}000")
	for _, one := range windows {
		at := one.FindStringSubmatchIndex(text)
		if at == nil || ofBytes.MatchString(text[at[3]:]) || r.Status == http.StatusRequestEntityTooLarge && !strings.Contains(text, "token") {
			continue
		}
		number := strings.NewReplacer(",", "", "_", "").Replace(text[at[2]:at[3]])
		if tokens, err := strconv.ParseInt(number, 10, 64); err == nil && tokens >= 1<<10 { // what is below is of something else, and leaves no room for a summary
			return tokens
		}
	}
	return 0
}
