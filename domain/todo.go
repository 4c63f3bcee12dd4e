package domain

import (
	"cmp"
	"encoding/json"
	"strings"
)

// TodoNote is the key of the metadata under which tool todo keeps its list. It is recorded.
const TodoNote = "todo"

// maxTodo bounds a list that is shown, in bytes: the tool keeps no longer one.
const maxTodo = 32 << 10

// A TodoItem is one thing of the list that tool todo keeps for a session. The model writes it.
type TodoItem struct {
	Text string `json:"text"`
	// Status is open, doing or done, as the model says. Empty: open.
	Status string `json:"status,omitzero"`
}

// Todo is the list that tool todo keeps; nil where there is none, or where a hook or the session's starter has put
// something else in its place.
func (m Metadata) Todo() []TodoItem {
	var items []TodoItem
	if note := m[TodoNote]; len(note) > maxTodo || json.Unmarshal(note, &items) != nil {
		return nil
	}
	return items
}

// String is the item in one line, as models read it too.
func (i TodoItem) String() string {
	mark := cmp.Or(map[string]string{"doing": "[~]", "done": "[x]"}[i.Status], "[ ]")
	return mark + " " + strings.Join(strings.Fields(i.Text), " ")
}
