package conformance

import "testing"

// Run tests an adapter. Its parts run in parallel.
func Run(t *testing.T, c Case) {
	t.Helper()
	for name, test := range map[string]func(Case, *testing.T){
		"answers":                Case.testAnswers,
		"request":                Case.testRequest,
		"request id":             Case.testRequestID,
		"byte by byte":           Case.testByteByByte,
		"forms":                  Case.testForms,
		"hostile arguments":      Case.testHostileArguments,
		"hostile bodies":         Case.testHostileBodies,
		"cut":                    Case.testCut,
		"rejections":             Case.testRejections,
		"an error in the stream": Case.testInStream,
		"no answers":             Case.testNoAnswers,
		"keys in errors":         Case.testKeysInErrors,
		"redirect":               Case.testRedirect,
		"silence":                Case.testSilence,
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
}
