package inference

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Words finds any of some texts, one a line, which may have patterns in them.
func Words(lines string) *regexp.Regexp {
	return regexp.MustCompile(strings.Join(strings.FieldsFunc(lines, unicode.IsControl), "|"))
}

// What providers say, found in recorded traffic and their public documentation: of… in a code or a type, some of it in a
// message too, and in… in a message. All is compared in lower case.
var (
	ofPace = Words(`
		rate_?limit
		too_many_requests
		throttl
		resource_exhausted`)
	ofQuota   = Words(`resource_exhausted`)
	ofRequest = Words(`
		invalid_
		unsupported
		image
		data_residency_mismatch`)
	ofFetching = Words(`failed_to_`)

	ofMoney = Words(`
		insufficient_(?:quota|credit|balance|funds)
		credit_balance
		billing
		spend_limit
		usage_limit
		payment_required
		current_quota
		arrearage
		budget_exceeded
		freetier`)
	inCredits = Words(`credit`)
	// inDays: the quota of a day, or money, does not come back while one waits.
	inDays = Words(`
		per-?day
		\b(?:daily|weekly|monthly) [\w ]{0,20}(?:limit|quota)\b
		prepayment credits`)
	inMoney = Words(`
		exceeded your current quota
		insufficient[ _](?:quota|balance|credits|funds)
		credit balance
		spend(?:ing)? limit
		usage limits
		\b(?:no|out of|not enough) (?:(?:remaining|more|available) )?(?:credits|funds)\b
		used all available credits
		budget has been exceeded
		over budget
		free (?:tier|allocation)\b.*(?:exhausted|upgrade)
		key limit exceeded
		unpaid
		余额不足
		欠费`)

	ofKey = Words(`
		invalid_api_key
		authentication_error
		^(?:error: |(?:http )?401:? )*unauthorized
		(?:incorrect|invalid) api[ _]key
		\b(?:no|missing) (?:api[ _]key|authorization header)\b
		api[ _]key (?:is |has )?(?:not valid|invalid|expired|not found)
		api_key_invalid
		authorization token is invalid
		login fail`)

	ofAccess = Words(`
		unauthorized
		unauthenticated
		permission_error`)

	// inSize: one request exceeds what the account may use, which no waiting mends, though the status may be that of too many.
	inSize = Words(`
		request (?:is )?too large.*(?:per min|\(tpm\)|must be reduced|reduce your message)
		usage is required for long context`)

	ofWindow = Words(`
		context_length_exceeded
		too_many_(?:prompt_)?tokens
		request_too_large
		context_window_exceeded
		exceed_context_size
		prompt_tokens_exceeded`)
	inWindow = Words(`
		context[ _]?(?:window|length|limit)
		exceeds the context
		available context size
		max_seq_len
		maximum (?:model|prompt) length
		reduce the length of the
		model token limit
		range of input length
		exceed max message tokens
		max_tokens must be at least 1, got -[0-9]`)
	// inSum compares what was sent and the answer together with a bound.
	inSum = Words(`
		\b(?:input|prompt)s?(?:\b|_)[^\n]{0,60}(?:\+|\b(?:and|plus)\b)[^\n]{0,30}(?:output|completion|max_|new_)[^\n]{0,60}(?:exceed|must be (?:<|less|at most)|(?:more|greater|larger) than)
		(?:output|completion|max_|new_)[^\n]{0,30}(?:\+|\b(?:and|plus)\b)[^\n]{0,30}\b(?:input|prompt)s?(?:\b|_)[^\n]{0,60}(?:exceed|must be (?:<|less|at most)|(?:more|greater|larger) than)`)
	// inFields is about a field of that name, or the form of its value.
	inFields = Words(`
		(?:unknown|unrecognized|unsupported|unexpected) (?:request )?(?:parameter|argument|field|key)
		inputs are not permitted
		input should be`)
	// inTokens compares something that was sent, inPace and inOutput something else.
	inTokens = Words(`
		\b(?:(?:input|prompt)s?(?:_tokens)?|conversation|messages|sequence|tokens?)\b[\w ,()\x60/-]{0,60}\b(?:too long|too large|too many tokens|exceed(?:s|ed)?|longer than|more than|less than|configured context|only supports up to)\b
		\b(?:too many|at most [0-9,]+) (?:input|prompt) tokens\b
		\b[0-9][0-9,]* tokens\b[^.\n]{0,40}\b(?:limit|maximum) is [0-9]`)
	inPace = Words(`
		per (?:second|min|hour|day)
		\brate\b
		\b[rt]pm\b
		\bminutes?\b
		too many requests
		please wait
		timed? ?out
		\btime (?:to|exceed)
		latency`)
	inOutput = Words(`
		stop[ _]sequence
		output tokens?\b
		completion tokens?\b
		\bmax[ _](?:completion_|output_)?tokens (?:is|must|should|cannot)
		\bimage
		\btools\b`)

	ofFilter = Words(`
		content_filter
		content_policy_violation
		responsibleaipolicyviolation
		data_?inspection_?failed
		content m(?:anagement policy|oderation)
		content filter
		flagged by moderation
		requires moderation
		(?:inappropriate|sensitive) content
		敏感内容
		content exists risk
		high risk
		violates usage
		new_sensitive
		safety system`)
	ofPolicy = Words(`_policy`)
	ofPrompt = Words(`invalid_prompt`)

	// ofCall: the provider could not take a tool call that the model wrote.
	ofCall = Words(`
		tool_use_failed
		malformed_function_call
		unexpected_tool_call
		invalid_function_call
		tool call validation failed
		which was not in request.tools
		error parsing tool call
		failed to parse input at pos
		(?:failed|unable) to (?:parse|generate|produce) (?:(?:an?|the|valid) )*(?:tool|function)[ _]call
		failed to call a function
		tool error: no function
		invalid sequence as part of tooluse
		parameters for tool.*did not match schema
		model(?:'s output)? (?:produced|generated|wrote|called (?:an?|the|unknown|undefined) |(?:tried|attempted) to call|did not (?:produce|generate|output|write)|could not be parsed).*(?:tool|function)
		xml syntax error
		while expecting start token`)

	ofModel = Words(`
		model_not_(?:found|available|exist|support|allow|permit)
		deploymentnotfound
		not_found_error
		invalid_model
		model_decommissioned
		not a valid model id
		(?:no such|unknown|invalid) model(?: name| id|[:,.]|\W*(?:\n|$|['"\x60]|\w*[0-9/-]))
		\bmodel\b.{0,80}(?:does not exist|not exist|not found|identifier is invalid)`)
	// inName is one word, which in a stream may be another than a model's name.
	inName     = Words(`(?:no such|unknown) model \w+\W*(?:\n|$)`)
	inFeatures = Words(`no endpoints found that support`)
	// inParts is about a part of what was asked of a model.
	inParts = Words(`unknown model (?:option|parameter|field|key|setting|type|format|output|response|provider|error|failure|state|architecture)s?\b`)
)

// has reports whether the code or the type has some words.
func (r Rejection) has(some *regexp.Regexp) bool {
	return some.MatchString(strings.ToLower(r.Code + "\n" + r.Type))
}

// says reports whether the message, or what is behind it, has some words.
func (r Rejection) says(some *regexp.Regexp) bool {
	return some.MatchString(strings.ToLower(r.Message + "\n" + r.Hint))
}

// tells reports whether either has some words.
func (r Rejection) tells(some *regexp.Regexp) bool { return r.has(some) || r.says(some) }

// comes reports whether it came with one of some statuses. Zero is none.
func (r Rejection) comes(with ...int) bool { return slices.Contains(with, r.Status) }

// quota reports whether it is about money rather than pace: waiting does not help.
func (r Rejection) quota() bool {
	switch {
	case r.comes(402):
		return !r.Asked // with a delay it is a budget in flight, which comes back
	case !r.comes(0, 400, 403, 429):
		return false
	case r.has(ofMoney), r.comes(0, 429) && r.says(inDays):
		return true
	case r.has(ofQuota), r.Asked && !r.says(inCredits):
		return false
	}
	return r.says(inMoney)
}

// auth reports whether the key is what was refused.
func (r Rejection) auth() bool {
	return r.comes(401) || r.comes(403) && !r.has(ofPace) || r.comes(0, 400) && (r.has(ofAccess) || r.tells(ofKey))
}

// overflow reports whether the conversation is longer than the model's window.
func (r Rejection) overflow() bool {
	sum := r.says(inSum) || r.says(inTokens) && !r.says(inOutput)
	long := r.says(inWindow) || (r.has(ofWindow) || sum) && !r.says(inPace)
	return r.comes(413) || r.comes(0, 400, 422, 500) && long && !r.says(inFields) && (!r.has(ofPace) || r.window() > 0)
}

// filtered reports whether a content filter refused the request.
func (r Rejection) filtered() bool {
	if r.Status >= 500 || r.comes(401, 429) {
		return false
	}
	return r.has(ofPolicy) || r.tells(ofFilter) || r.has(ofPrompt) && !r.overflow()
}

// notFound reports whether there is no such model, or nothing at the URL.
func (r Rejection) notFound() bool {
	if r.comes(404, 410) {
		return !r.says(inFeatures)
	}
	return r.Status < 500 && r.has(ofModel) || (r.comes(0, 400, 403, 422) && r.says(ofModel) || r.comes(400, 403, 422) && r.says(inName)) && !r.says(inParts)
}
