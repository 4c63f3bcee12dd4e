package wire

import (
	"bytes"
	"slices"
	"strings"

	"everstep/domain"
)

// A Usage is one as servers report it, by our names of what they count.
type Usage map[string]int64

// countNames are the servers' names of counts, in small letters and without underlines. Fresh is what some tell of input
// beside what they had in their cache, prompt the input with it, tools what tools of the server have read
// beside it, and beside the thinking that is counted beside the output.
var countNames = map[string]string{
	"input":   "inputtokens inputtokencount prompttokencount tokensevaluated promptevalcount prefilltokens",
	"prompt":  "prompttokens",
	"fresh":   "promptn promptcachemisstokens",
	"output":  "outputtokens completiontokens outputtokencount candidatestokencount tokenspredicted evalcount generatedtokens generatedtokencount predictedn",
	"cached":  "cachedtokens promptcachehittokens cachereadinputtokens cachedcontenttokencount cachen",
	"written": "cachewritetokens cachecreationinputtokens",
	"thought": "reasoningtokens thinkingtokens",
	"beside":  "thoughtstokencount",
	"tools":   "tooluseprompttokencount",
	"total":   "totaltokens totaltokencount",
}

// ourNames are ours by the servers' names.
var ourNames = func() map[string]string {
	all := map[string]string{}
	for our, names := range countNames {
		for name := range strings.FieldsSeq(names) {
			all[name] = our
		}
	}
	return all
}()

// UnmarshalJSON takes the counts of an object, and those of the details in it. It never fails.
func (u *Usage) UnmarshalJSON(data []byte) error {
	*u = Usage{}
	u.take(data, true)
	return nil
}

func (u Usage) take(data []byte, whole bool) {
	members(data, func(name, value []byte) {
		plain := strings.ToLower(strings.Trim(strings.ReplaceAll(string(name), "_", ""), `"`))
		if our, ok := ourNames[plain]; ok && !IsNull(value) {
			var count Count
			_ = count.UnmarshalJSON(value) // never
			u[our] = max(u[our], int64(count))
		} else if whole && strings.HasSuffix(plain, "details") {
			u.take(value, false)
		}
	})
}

// UsageIn is the usage that stands in an answer, or a piece of one: the object with counts of tokens that is nearest to the
// top, whatever its name. Zero: there is none. The JSON is valid.
func UsageIn(data []byte) domain.Usage {
	if !slices.ContainsFunc(signs, func(sign []byte) bool { return bytes.Contains(data, sign) }) {
		return domain.Usage{}
	}
	level := [][]byte{data}
	for range 5 { // down to choices[0].message.usage
		var below [][]byte
		for _, raw := range level {
			u := Usage{}
			u.take(raw, true)
			if found := u.Domain(); found.OutputTokens > 0 || found.InputTokens > found.CacheReadTokens {
				return found
			}
			members(raw, func(name, value []byte) {
				switch {
				case value[0] != '{' && value[0] != '[':
				case string(name) == `"usage"`: // before llama.cpp's timings, which leave out what was cached
					below = slices.Insert(below, 0, value)
				default:
					below = append(below, value)
				}
			})
		}
		level = below
	}
	return domain.Usage{}
}

// signs are what the names of counts have in common.
var signs = bytes.Fields([]byte(`okens" okenCount" oken_count" "tokens_ eval_count" "prompt_n" "predicted_n"`))

// Domain is the usage in our own form, whose parts are parts: cached of input, reasoning of
// output, what tools have read of input. Some servers count them beside, which the total tells, or that a part is more than
// the whole, or where the total says nothing the name. Where the total tells that they are inside, what was both read and
// written of the cache counts as read. What else the total has beyond its parts was read.
func (u Usage) Domain() domain.Usage {
	all := domain.Usage{InputTokens: max(u["input"], u["prompt"]), OutputTokens: u["output"], CacheReadTokens: u["cached"], CacheWriteTokens: u["written"], ReasoningTokens: max(u["thought"], u["beside"])}
	total, cached := u["total"], all.CacheReadTokens+all.CacheWriteTokens
	if u["fresh"] > 0 {
		all.InputTokens = max(all.InputTokens, u["fresh"]+cached)
	}
	if sum := all.InputTokens + all.OutputTokens; total != sum && total != sum+all.ReasoningTokens {
		all.InputTokens += u["tools"]
	}
	if sum := all.InputTokens + all.OutputTokens; all.ReasoningTokens > all.OutputTokens || total == sum+all.ReasoningTokens || total != sum && u["beside"] > 0 {
		all.OutputTokens += all.ReasoningTokens
	}
	within := total == all.InputTokens+all.OutputTokens && max(all.CacheReadTokens, all.CacheWriteTokens) <= all.InputTokens
	if !within && cached > all.InputTokens {
		all.InputTokens += cached
	}
	all.InputTokens = max(all.InputTokens, total-all.OutputTokens)
	all.CacheWriteTokens = min(all.CacheWriteTokens, all.InputTokens-all.CacheReadTokens)
	return all
}
