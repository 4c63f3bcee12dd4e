package kills

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLoadJudge: a turn may not take more bytes the longer the session is; short ones tell nothing.
func TestLoadJudge(t *testing.T) {
	t.Parallel()
	blocks := []TurnBlock{{To: 30, BytesATurn: 9000}, {To: 60, BytesATurn: 6000}, {To: 90, BytesATurn: 9000}, {To: 120, BytesATurn: 7200}}
	flat := LoadReport{Turns: &TurnsReport{Blocks: blocks}}
	flat.judge()
	require.Empty(t, flat.Broken)
	blocks[3].BytesATurn++
	flat.judge()
	require.Equal(t, []string{"a turn took 6000 bytes of history at turn 60 and 7201 at turn 120"}, flat.Broken)
	short := LoadReport{Turns: &TurnsReport{Blocks: []TurnBlock{{BytesATurn: 1}, {BytesATurn: 1}, {BytesATurn: 9}}}}
	short.judge()
	require.Empty(t, short.Broken)
}
