package render

import (
	"strings"

	"everstep/domain"
	"everstep/starter/client"
)

// A family tells what the sub-agents of a story do, each in a story of its own. What they say is shown in one line.
type family struct {
	members map[domain.AgentID]*member
}

// A member is one sub-agent.
type member struct {
	story *story
	// name is what it is called, and depth how deep it is.
	name  string
	depth int
	// call is that of the story's own agent below which it is.
	call callKey
}

// join notes that a call has started a sub-agent.
func (f *family) join(e client.Event) {
	if e.Type != domain.EventSubagentSpawning {
		return
	}
	if f.members == nil {
		f.members = map[domain.AgentID]*member{}
	}
	call := callKey{e.Step, e.Position}
	if above := f.members[e.AgentID]; above != nil {
		call = above.call
	}
	id := e.ChildID.String()
	f.members[e.ChildID] = &member{story: newStory(id, ""), name: joined(" ", OneLine(e.ChildName), shortAgent(id)), depth: e.Depth() + 1, call: call}
}

// tell returns the lines of an event of a sub-agent. Of one that nobody knows there are none.
func (f *family) tell(e client.Event) (*member, []line) {
	m := f.members[e.AgentID]
	if m == nil {
		return nil, nil
	}
	var lines []line
	for _, l := range m.story.Tell(e) {
		switch l.mark {
		case markBegan, markLink:
			continue
		case markText:
			l.text = shortened(OneLine(l.text), maxWords)
		default:
		}
		lines = append(lines, l)
	}
	return m, lines
}

// deep is how far what is below the agent stands to the right.
func (m *member) deep() string { return strings.Repeat("  ", m.depth) }
