package wire_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference/wire"
)

func TestBody(t *testing.T) {
	t.Parallel()
	body, err := wire.Body("messages", [][]byte{[]byte(`{"b": "<"}`), []byte(`1.50`)}, map[string]json.RawMessage{
		"z": []byte("1"), "messages": []byte(`[]`), `a"`: []byte(`{"x": 2}`),
	})
	require.NoError(t, err)
	require.Equal(t, `{"messages":[{"b": "<"},1.50],"a\"":{"x": 2},"z":1}`, string(body))
	body, err = wire.Body("input", nil, nil)
	require.NoError(t, err)
	require.Equal(t, `{"input":[]}`, string(body))
}
