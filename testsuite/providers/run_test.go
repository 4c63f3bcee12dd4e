package providers

import (
	"regexp"
	"slices"
	"testing"

	"everstep/activities/openaichat"
)

// cases are all providers that have a server, by their names. One whose package
// is new gets its own case here, in a file with the package's name.
func cases() map[string]Case {
	all := map[string]Case{}
	for _, c := range []Case{anthropicCase(), geminiCase(), openAICase()} {
		all[c.API.Name] = c
	}
	for _, api := range openaichat.APIs() {
		all[api.Name] = openAIChatCase(api)
	}
	return all
}

// TestFloods measures memory, so it runs alone. One reader of one body has no races, and
// under their detector its bodies of 100 MB take minutes.
func TestFloods(t *testing.T) {
	if testing.Short() {
		t.Skip("floods are left out: -short")
	}
	for name, c := range cases() {
		t.Run(name, func(t *testing.T) { c.testFloods(t) })
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	for adapter, c := range cases() {
		t.Run(adapter, func(t *testing.T) {
			t.Parallel()
			for name, test := range map[string]func(Case, *testing.T){
				"answers":                Case.testAnswers,
				"request":                Case.testRequest,
				"request id":             Case.testRequestID,
				"byte by byte":           Case.testByteByByte,
				"forms":                  Case.testForms,
				"hostile arguments":      Case.testHostileArguments,
				"hostile bodies":         Case.testHostileBodies,
				"cut":                    Case.testCut,
				"an error in the stream": Case.testInStream,
				"no answers":             Case.testNoAnswers,
				"keys in errors":         Case.testKeysInErrors,
				"redirect":               Case.testRedirect,
				"silence":                Case.testSilence,
				"bytes and no progress":  Case.testNoProgress,
				"slow progress":          Case.testSlowProgress,
				"two answers":            Case.testMixed,
				"cancelled":              Case.testCancelled,
				"nothing listens":        Case.testNothingListens,
				"a broken connection":    Case.testBrokenConnection,
				"at once":                Case.testAtOnce,
				"check":                  Case.testCheck,
				"base URLs":              Case.testBaseURLs,
				"other servers":          Case.testOtherServers,
			} {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					test(c, t)
				})
			}
		})
	}
}

// finished finds a finish reason in a stream.
var finished = regexp.MustCompile(`"finish_reason": ?"[a-z_]+"`)

// noAnswers are the recordings of status 200 that hold none: see openaichat.
var noAnswers = []string{"5eb46e2e37ea", "3ad13d391708", "c3e28b988c1d"}

// TestPlayedRecordings: before the API's own mark of the end nothing may pass for
// an answer. Of chat completions that is the finish reason, after which the
// answer is whole, whatever of the usage and the end marker is missing.
func TestPlayedRecordings(t *testing.T) {
	t.Parallel()
	for api, test := range map[string]struct {
		Case
		ends func(head string) bool
	}{
		"chat": {openAIChatCase(openaichat.APIs()[0]), finished.MatchString}, "messages": {anthropicCase(), nil}, "responses": {openAICase(), nil},
	} {
		t.Run(api, func(t *testing.T) {
			t.Parallel()
			for _, r := range Recordings(t, api, true) {
				if slices.Contains(noAnswers, r.ID) {
					continue
				}
				t.Run(r.ID, func(t *testing.T) {
					t.Parallel()
					test.play(t, r, test.ends)
				})
			}
		})
	}
}
