package workflows

import (
	"encoding/json"
	"slices"
	"strings"

	"everstep/domain"
)

// sound returns a model's message as the transcript may take it, whatever the
// worker that sent it was. It answers false where there is none.
func sound(m *domain.Message) (domain.Message, bool) {
	if m == nil {
		return domain.Message{Role: domain.RoleAssistant}, false
	}
	own := *m
	own.Role, own.ToolResult = domain.RoleAssistant, nil
	own.Parts = slices.DeleteFunc(slices.Clone(m.Parts), func(p domain.Part) bool {
		return p.Type == "" || len(p.Opaque) > 0 && !json.Valid(p.Opaque)
	})
	return own, true
}

// blank reports whether a message has no text that can be seen.
func blank(m domain.Message) bool { return strings.TrimSpace(m.Text()) == "" }
