package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"everstep/activities/tool"
	"everstep/domain"
)

// listed is what the server lists, by way of a connection that holds.
func (s *server) listed(ctx context.Context) (*link, []*sdk.Tool, error) {
	defer time.AfterFunc(s.options.silence, func() {
		tool.Progress(ctx, fmt.Sprintf("MCP server %s has not answered for %s; starter mcp check %s says more%s", s.config.Name, s.options.silence, s.config.Name, s.lastWords(0)))
	}).Stop()
	l, err := s.link(ctx)
	if err != nil {
		return nil, nil, err
	}
	asking, sent := withSending(ctx, false)
	tools, err := l.list(asking)
	if err == nil {
		s.leaveOut(&s.unread, l.known().unread)
		return l, tools, nil
	}
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	if s.breaks(l, err) {
		s.lost(l)
	}
	if over := s.lostFor(); over != nil {
		return nil, nil, over
	}
	if l.known().tools != nil && errors.Is(err, sdk.ErrSessionMissing) { // it has listed them in this session: it was started anew
		return nil, nil, s.unavailable("has forgotten the connection")
	}
	return nil, nil, s.refused("does not list its tools", sent, err)
}

// find makes a tool of what the server lists under a name.
func (s *server) find(ctx context.Context, name string) (tool.Tool, error) {
	l, listed, err := s.listed(ctx)
	if err != nil {
		return tool.Tool{}, err
	}
	var others []string
	for _, t := range listed {
		config, allowed := s.config.allowed(t.Name)
		switch known := ToolName(s.config.Name, t.Name); {
		case !allowed:
		case known == name:
			return s.usable(t, config)
		default:
			others = append(others, known)
		}
	}
	for _, t := range l.known().unread {
		if ToolName(s.config.Name, t.Name) == name {
			return tool.Tool{}, s.unknown("lists tool %q, which no agent has: %s", t.Name, t.Problem)
		}
	}
	return tool.Tool{}, s.unknown("has no %q for agents; it has: %s", domain.Shorten(name, maxToolName), domain.Shorten(strings.Join(others, ", "), 1000))
}

// everything makes tools of all that the server lists for agents, of which there is one at least.
func (s *server) everything(ctx context.Context) (all []tool.Tool, err error) {
	_, listed, err := s.listed(ctx)
	if err != nil {
		return nil, err
	}
	var unusable []unreadTool
	for _, t := range listed {
		config, allowed := s.config.allowed(t.Name)
		if !allowed {
			continue
		}
		if made, err := s.usable(t, config); err == nil {
			all = append(all, made)
		} else {
			unusable = append(unusable, unreadTool{t.Name, err.Error()})
		}
	}
	s.leaveOut(&s.unusable, unusable)
	if len(all) == 0 {
		return nil, s.unknown("has no tools for agents")
	}
	return all, nil
}

// leaveOut names in the log the tools that no agent has, each once for as long as it is listed.
func (s *server) leaveOut(reported *[]unreadTool, now []unreadTool) {
	s.mu.Lock()
	before := *reported
	*reported = now
	s.mu.Unlock()
	for _, t := range now {
		if !slices.Contains(before, t) {
			s.warn("MCP server lists a tool that no agent has", "tool", t.Name, "error", t.Problem)
		}
	}
}

func (s *server) usable(listed *sdk.Tool, config ToolConfig) (tool.Tool, error) {
	made, _, err := s.tool(listed, config)
	if err != nil {
		return made, domain.Invalidf("MCP server %s: %s", s.config.Name, err)
	}
	return made, nil
}
