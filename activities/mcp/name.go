package mcp

import (
	"fmt"
	"regexp"
	"strings"

	"everstep/domain"
)

// FileVariable names the file of MCP servers that a worker has.
const FileVariable = "EVERSTEP_MCP"

const (
	separator = domain.ServerSeparator
	// maxServerName leaves room for the tool's.
	maxServerName = 24
	// maxToolName is the longest name of a tool that models take.
	maxToolName = 64
)

// ServerPattern is what the name of a server looks like, but for its length.
const ServerPattern = `^[a-zA-Z0-9]([a-zA-Z0-9-]|_[a-zA-Z0-9-])*$`

var (
	validServer = regexp.MustCompile(ServerPattern)
	notInName   = regexp.MustCompile(`[^a-zA-Z0-9_-]`)
	notInServer = regexp.MustCompile(`[^a-zA-Z0-9_-]+|__+`)
	digitFirst  = regexp.MustCompile(`^[0-9]`)
)

// ServerName is what a server is called here that a file calls otherwise, but for its length. Some models' APIs refuse all tools
// where the name of one begins with a digit.
func ServerName(key string) string {
	name := strings.Trim(notInServer.ReplaceAllString(key, "-"), "-_")
	return digitFirst.ReplaceAllString(name, "mcp-$0")
}

// CheckServer says what is wrong with the name of a server; empty: nothing.
func CheckServer(name string) string {
	if validServer.MatchString(name) && len(name) <= maxServerName {
		return ""
	}
	return fmt.Sprintf("is no name of a server: it begins the names of its tools; use 1 to %d letters, digits, dashes and single underscores", maxServerName)
}

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
