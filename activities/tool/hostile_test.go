package tool_test

import (
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

// Whatever text arrives as arguments, the tool runs or says what is wrong: it
// never panics, and what is no JSON never runs.
func TestHostileArguments(t *testing.T) {
	t.Parallel()
	data := os.Getenv("EVERSTEP_DATA")
	if data == "" {
		t.Skip("EVERSTEP_DATA is not set: the files of JSONTestSuite were NOT tried as arguments")
	}
	files, err := filepath.Glob(filepath.Join(data, "hostile", "JSONTestSuite", "test_parsing", "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		name := filepath.Base(file)
		for _, arguments := range []string{string(text), `{"city":"a","extra":` + string(text) + `}`} {
			_, err = weather().Call(t.Context(), arguments)
			if err == nil {
				require.NotEqual(t, byte('n'), name[0], "%s is not JSON and ran", name)
				require.True(t, utf8.ValidString(arguments), name)
				continue
			}
			e := domain.AsError(err)
			require.Equal(t, domain.CodeMalformed, e.Code, "%s: %s", name, err)
			require.NotContains(t, e.Message, "internal", name)
			require.True(t, utf8.ValidString(e.Message), name)
		}
	}
}
