package stores

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/record"
	"everstep/domain"
)

// Text is what a file says of a record.
func Text(tb testing.TB, one record.Record) string {
	tb.Helper()
	var file bytes.Buffer
	require.NoError(tb, record.Write(&file, one))
	_, text, found := strings.Cut(strings.Split(file.String(), "\n")[1], `"record":`)
	require.True(tb, found)
	return strings.TrimSuffix(text, "}")
}

// Changed are a record's text and, for each pair, that text with the second in the place of the first. Each must stand in it.
func Changed(tb testing.TB, text string, pairs [][2]string) []string {
	tb.Helper()
	all := []string{text}
	for _, pair := range pairs {
		require.Contains(tb, text, pair[0])
		all = append(all, strings.ReplaceAll(text, pair[0], pair[1]))
	}
	return all
}

// Forged is a file of one record that says a text, which is one line. Its digests are right.
func Forged(text string) string {
	digest := domain.DigestOf([]byte(text))
	return fmt.Sprintf("{\"format\":\"everstep-records\",\"schema_version\":1,\"records\":1}\n{\"digest\":%q,\"record\":%s}\n{\"end\":%q}\n",
		digest, text, domain.DigestOf(digest[:]))
}
