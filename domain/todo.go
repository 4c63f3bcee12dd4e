package domain

import (
	"cmp"
	"encoding/json"
	"strings"
)

// TodoNote is the key of the metadata under which tool todo keeps its list. It is recorded.
const TodoNote = "todo"

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
	// The tool keeps no longer list.
	if note := m[TodoNote]; len(note) > 32<<10 || json.Unmarshal(note, &items) != nil {
		return nil
	}
	return items
}

// String is the item in one line, as models read it too.
func (i TodoItem) String() string {
	mark := cmp.Or(map[string]string{"doing": "[~]", "done": "[x]"}[i.Status], "[ ]")
	return mark + " " + strings.Join(strings.Fields(i.Text), " ")
}
