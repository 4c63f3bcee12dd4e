package todo_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/todo"
	"everstep/activities/tool"
	"everstep/domain"
)

func TestTodo(t *testing.T) {
	t.Parallel()
	list := todo.Tool()
	require.NoError(t, list.Check())
	require.Equal(t, todo.Name, list.Spec().Note)
	written, err := list.Call(t.Context(), `{"items":[{"text":"look\naround","status":"done"},{"text":"act","status":"doing"},{"text":"rest"}]}`)
	require.NoError(t, err)
	require.Equal(t, "[x] look around\n[~] act\n[ ] rest", written.Content)
	read, err := list.Call(tool.WithExecution(t.Context(), tool.Call{Note: written.Note}), `{}`)
	require.NoError(t, err)
	require.Equal(t, written.Content, read.Content)
	require.Nil(t, read.Note, "reading changes nothing")
	cleared, err := list.Call(t.Context(), `{"items":[]}`)
	require.NoError(t, err)
	require.Equal(t, tool.Result{Content: "the list is empty", Note: json.RawMessage("[]")}, cleared)
	unread, err := list.Call(t.Context(), `{}`)
	require.NoError(t, err)
	require.Equal(t, "the list is empty", unread.Content)

	_, err = list.Call(tool.WithExecution(t.Context(), tool.Call{Note: json.RawMessage(`"mine"`)}), `{}`)
	require.ErrorContains(t, err, `note "todo" is no list`)
	_, err = list.Call(t.Context(), `{"items":[{"text":"","status":"later"},{"status":"done","who":"me"}]}`)
	require.Equal(t, domain.CodeMalformed, domain.AsError(err).Code)
	for _, each := range []string{"/items/0/text: has 0 characters", `/items/0/status: is "later" and must be one of "open", "doing", "done"`, `/items/1: lacks "text"`, `/items/1/who: the schema has no such property; leave it out, or give one of "status", "text"`} {
		require.ErrorContains(t, err, each)
	}
}
