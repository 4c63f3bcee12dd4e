package mcp

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"everstep/activities/document"
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
	// digestMark and so many characters of a digest end the name of a tool whose own name does not stand in it as it is.
	digestMark   = "--"
	digestLength = 8
)

// ServerPattern is what the name of a server looks like, but for its length.
const ServerPattern = `^[a-zA-Z0-9]([a-zA-Z0-9-]|_[a-zA-Z0-9-])*$`

var (
	validServer = regexp.MustCompile(ServerPattern)
	notInName   = regexp.MustCompile(`[^a-zA-Z0-9_-]`)
	// notInPattern is what no pattern of names of tools has.
	notInPattern = regexp.MustCompile(`[^a-zA-Z0-9_*?-]`)
	// notInServer is what no name of a server has.
	notInServer = regexp.MustCompile(`[^a-zA-Z0-9_-]+|__+`)
	digitFirst  = regexp.MustCompile(`^[0-9]`)
)

// ServerNames are what a server is called here by its key in a file: the first name, and where another server of the file has
// that already, the second. Some models' APIs refuse all tools where the name of one begins with a digit.
func ServerNames(key string) (name, distinct string) {
	name = digitFirst.ReplaceAllString(strings.Trim(notInServer.ReplaceAllString(key, "-"), "-_"), "mcp-$0")
	digest := domain.DigestOf([]byte(key))
	end := fmt.Sprintf("-%x", digest[:2])
	distinct = domain.Shorten(cmp.Or(name, "server"), maxServerName-len(end)) + end
	if name == "" || len(name) > maxServerName {
		name = distinct
	}
	return name, distinct
}

// Alike reports whether a server, by its name here, may be the one that another program calls so, which has the server by the same
// key in a file: models take not all signs of a key, and each program puts others in their places.
func Alike(server, called string) bool {
	name, distinct := ServerNames(called)
	return server == name || server == distinct || plainKey(server) == plainKey(called)
}

// Shortened reports whether a server's name here may be the beginning alone of what another program calls it.
func Shortened(server, called string) bool {
	return len(server) == maxServerName && strings.HasPrefix(plainKey(called), plainKey(server[:maxServerName-len("-0000")]))
}

// CheckServer says what is wrong with the name of a server; empty: nothing.
func CheckServer(name string) string {
	if validServer.MatchString(name) && len(name) <= maxServerName {
		return ""
	}
	return fmt.Sprintf("%q is no name of a server: it begins the names of its tools; use 1 to %d letters, digits, dashes and single underscores", document.Shorten(name), maxServerName)
}

// ToolName is the name by which agents know a server's tool: SERVER__TOOL. Where the
// tool's own name has other characters than letters, digits, - and _, they become _;
// where it has them, or is too long for 64 bytes in all, the name ends in -- and a digest of the
// whole, so that no two tools share a name.
func ToolName(server, tool string) string {
	name := server + separator + notInName.ReplaceAllString(tool, "_")
	if name == server+separator+tool && len(name) <= maxToolName && tool != "" {
		return name
	}
	return marked(name, domain.DigestOf([]byte(tool)).String()[:digestLength])
}

// marked is a name of a tool, or the begin of one, that ends in a digest.
func marked(name, digest string) string {
	return domain.Shorten(name, maxToolName-len(digestMark)-digestLength) + digestMark + digest
}

// ToolPatterns are patterns of all names by which agents may know a server's tool that another program calls so, which has _ in
// the place of other characters, or the tools that such a pattern means.
func ToolPatterns(server, called string) []string {
	called = notInPattern.ReplaceAllString(called, "_")
	name := server + separator + called
	if strings.HasSuffix(name, "*") || !strings.ContainsAny(called, "_*?") && len(name) <= maxToolName {
		return []string{name}
	}
	return []string{name, marked(name, strings.Repeat("?", digestLength))}
}
