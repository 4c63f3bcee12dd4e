package inference

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"everstep/domain"
)

// A Rejection is what a provider said instead of an answer, be it with status 200.
type Rejection struct {
	// Status is the HTTP status, or the one named in the body. Zero: none.
	Status int
	// Code, Type, Param and Message are the provider's words. Message is shown: no keys in it.
	Code, Type, Param, Message string
	// Hint is more of the provider's words, read to understand and not shown.
	Hint string
	// Written is what the model wrote that the provider could not read, where the body has it.
	Written string
	// RequestID is the provider's id of the request, where the body names it.
	RequestID string
	// Server is the base URL that was asked, with nothing secret in it. Empty: it is not told.
	Server string
	// RetryAfter is the delay that the provider asked for.
	RetryAfter time.Duration
	// Asked means that it asked for a delay, be it of zero.
	Asked bool
	// Begun means that an answer had begun, so that the attempt may be billed whatever it says.
	Begun bool
	// ShouldRetry is the header by which Anthropic and OpenAI say whether the same request may
	// succeed: true or false. All else says nothing.
	ShouldRetry string
}

const maxShown = 600

// Error says what to do about it. The source is the provider, whose advice is followed where nothing is known but a
// status. Where a code says what happened, no advice makes a try of it.
func (r Rejection) Error(config domain.LLMConfig) *domain.Error {
	err := r.classify(config)
	switch advice := strings.ToLower(strings.TrimSpace(r.ShouldRetry)); {
	case err.Code != "":
	case advice == "true" && err.Kind == domain.Invalid:
		err.Kind = domain.Unavailable
	case advice == "false" && err.Kind == domain.Throttled:
		err = domain.CodedErrorf(domain.Denied, domain.CodeQuota, "%s: there are too many requests, and the provider says that waiting does not help%s", config.Provider, r.said())
	case advice == "false" && err.Kind == domain.Unavailable:
		err = domain.CodedErrorf(domain.Denied, domain.CodeGivenUp, "%s: the provider failed%s and says that another try would fail too%s", config.Provider, r.status(), r.said())
	}
	err.Source = config.Provider
	err.RetryAfter = r.RetryAfter
	if err.Code == domain.CodeContextOverflow {
		err.Window = r.window()
	}
	// A gateway is before the model, which may have done its work.
	err.Billed = err.Billed || r.Begun || r.comes(502, 504) || r.Status >= 520 && r.Status <= 524
	return err
}

func (r Rejection) classify(config domain.LLMConfig) *domain.Error {
	said, refused := r.said(), r.status()
	if r.comes(403) { // others repeat a part of the key
		refused += said
	}
	at, there := "", "there"
	if r.Server != "" {
		at, there = ", at "+r.Server, "at "+r.Server
	}
	for _, known := range []struct {
		is   bool
		kind domain.Kind
		code domain.Code
		says string
	}{
		{r.comes(0, 400, 403, 413, 429) && r.says(inSize), domain.TooLarge, domain.CodeContextOverflow, "the request is larger than the account may send" + said},
		{r.quota(), domain.Denied, domain.CodeQuota, "the account has no money or quota left" + said},
		{r.filtered(), domain.Denied, domain.CodeFiltered, "the provider's filter refused the request" + said},
		{r.overflow(), domain.TooLarge, domain.CodeContextOverflow, "the conversation exceeds the context of model " + config.Model + said},
		{r.auth(), domain.Denied, domain.CodeAuth, "the provider refused the key" + refused + at + "; check the key that the worker has"},
		{r.comes(0, 400, 422, 424, 500) && r.tells(ofCall), domain.Invalid, domain.CodeMalformed, "the model wrote a tool call that the provider could not read" + said},
		{r.notFound(), domain.Invalid, domain.CodeModelNotFound, "no model " + config.Model + " " + there + said + "; check the model's name and the base URL"},
	} {
		if known.is {
			err := domain.CodedErrorf(known.kind, known.code, "%s: %s", config.Provider, known.says)
			err.Billed = known.code == domain.CodeMalformed // it was written
			return err
		}
	}
	summary := map[domain.Kind]string{domain.Throttled: "too many requests", domain.Unavailable: "the provider failed", domain.Invalid: "the provider refused the request"}
	kind := r.kind()
	return domain.Errorf(kind, "%s: %s%s%s", config.Provider, summary[kind], r.status(), said)
}

// kind is what the status says, else the words.
func (r Rejection) kind() domain.Kind {
	switch {
	case r.comes(402, 429), r.comes(0, 400, 403) && r.has(ofPace):
		return domain.Throttled
	case r.comes(408, 409, 425, 499): // the last is how proxies, and Google, call a request that was given up
	case r.Status >= 400 && r.Status < 500, r.comes(501, 505), r.Status == 0 && r.has(ofRequest) && !r.has(ofFetching):
		return domain.Invalid
	}
	return domain.Unavailable
}

func (r Rejection) status() string {
	if r.Status == 0 {
		return ""
	}
	return fmt.Sprintf(" (HTTP %d)", r.Status)
}

// said is the provider's message, bounded, with the parameter it names.
func (r Rejection) said() string {
	message := cmp.Or(strings.Join(strings.Fields(clean(r.Message)), " "), r.Code)
	if message == "" {
		return ""
	}
	if len(message) > maxShown {
		message = domain.Shorten(message, maxShown) + "…"
	}
	if r.Param != "" && !strings.Contains(message, r.Param) {
		return fmt.Sprintf(": %s (parameter %s)", message, r.Param)
	}
	return ": " + message
}
