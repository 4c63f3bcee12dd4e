package mcp

import (
	"regexp"
	"strings"

	"everstep/domain"
)

const (
	// separator stands between the name of a server and that of its tool.
	separator = "__"
	// maxServerName leaves room for the tool's.
	maxServerName = 24
	// maxToolName is the longest name of a tool that models take.
	maxToolName = 64
)

var (
	validServer = regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9-]|_[a-zA-Z0-9-])*$`)
	notInName   = regexp.MustCompile(`[^a-zA-Z0-9_-]`)
)

// ToolName is the name by which agents know a server's tool: SERVER__TOOL. Where the
// tool's own name has other characters than letters, digits, - and _, they become _;
// where it has them, or is too long for 64 bytes in all, it ends in a digest of the
// whole, so that no two tools share a name.
func ToolName(server, tool string) string {
	name := server + separator + notInName.ReplaceAllString(tool, "_")
	if name == server+separator+tool && len(name) <= maxToolName && tool != "" {
		return name
	}
	end := "_" + domain.DigestOf([]byte(tool)).String()[:8]
	return domain.Shorten(name, maxToolName-len(end)) + end
}

// serverOf is the server that the name of a tool begins with.
func serverOf(name string) (server string, ok bool) {
	server, _, ok = strings.Cut(name, separator)
	return server, ok && server != ""
}
