package openaichat

import (
	"maps"
	"slices"
	"strings"

	"everstep/activities/inference/wire"
	"everstep/domain"
)

// turns are the messages as the dialect has them, the system prompt first. What one side says in several messages is one,
// where nothing is lost by it. Where roles have to take turns, a later instruction is said in a turn of the user, and what
// lacks is put in between.
func (d Dialect) turns(prompt string, messages []domain.Message, server string) []domain.Message {
	var out []domain.Message
	say := func(m domain.Message) {
		if last := len(out) - 1; last >= 0 && d.joins(out[last], m) {
			out[last] = joined(out[last], m)
			return
		}
		out = append(out, m)
	}
	after := func(role domain.Role) bool { return len(out) > 0 && out[len(out)-1].Role == role }
	strict := d.without(freeRoles) || d.without(system)
	if prompt != "" {
		messages = slices.Concat([]domain.Message{{Role: domain.RoleSystem, Parts: domain.UserMessage(prompt).Parts}}, messages)
	}
	for _, m := range messages {
		instructs := m.Role == domain.RoleSystem || m.Role == domain.RoleDeveloper
		switch {
		case instructs && d.without(system), instructs && strict && len(out) > 0 && !after(domain.RoleSystem):
			m = wire.Instruction(m)
		case instructs && (strict || !d.Developer || d.without(developer)):
			m.Role = domain.RoleSystem
		case m.Role == domain.RoleAssistant && d.silent(m, server):
			continue
		}
		switch {
		case !strict:
		case m.Role == domain.RoleUser && after(domain.RoleTool):
			say(domain.Message{Role: domain.RoleAssistant, Parts: domain.UserMessage("Understood.").Parts})
		case m.Role == domain.RoleAssistant && (len(out) == 0 || after(domain.RoleSystem) || after(domain.RoleAssistant) && !d.joins(out[len(out)-1], m)):
			say(domain.UserMessage(wire.GoOn))
		}
		say(m)
	}
	if strict && !after(domain.RoleUser) && !after(domain.RoleTool) {
		say(domain.UserMessage(wire.GoOn))
	}
	return out
}

// joins reports whether two messages can be said in one.
func (d Dialect) joins(m, next domain.Message) bool {
	if m.Role != next.Role {
		return false
	}
	switch m.Role {
	case domain.RoleUser:
		return m.Name == next.Name || d.without("name") || d.without(freeRoles)
	case domain.RoleAssistant:
		return len(m.ToolCalls) == 0 && wire.IsPlain(m) && wire.IsPlain(next)
	case domain.RoleSystem:
		return d.without(freeRoles)
	case domain.RoleDeveloper, domain.RoleTool:
	}
	return false
}

// joined is a message and the next one in one, texts as paragraphs.
func joined(m, next domain.Message) domain.Message {
	parts := slices.Concat(m.Parts, next.Parts)
	if wire.IsPlain(m) && wire.IsPlain(next) {
		texts := slices.DeleteFunc([]string{m.Text(), next.Text()}, func(text string) bool { return text == "" })
		parts = domain.UserMessage(strings.Join(texts, "\n\n")).Parts
	}
	next.Parts = parts
	if next.Name != m.Name {
		next.Name = "" // of two people
	}
	return next
}

// silent reports whether nothing would be left of a message of the model's that servers take: it has neither a text nor
// calls, nor what is to go back beside them and is no plain reasoning.
func (d Dialect) silent(m domain.Message, server string) bool {
	if m.Text() != "" || len(m.ToolCalls) > 0 {
		return false
	}
	beside, _ := d.back(m, server)
	maps.DeleteFunc(beside, func(field string, _ any) bool { return slices.Contains(ofReasoning, field) })
	return len(beside) == 0
}
