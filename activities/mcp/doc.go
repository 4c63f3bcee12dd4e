// Package mcp gives agents the tools of MCP servers: programs that the worker
// starts, and servers that it reaches over streamable HTTP.
//
// Its main type is Servers, which a file that Load reads configures. Its one rule:
// a server is not trusted. What it says of its tools is pinned where an agent is
// given them, its hints only make an effect stricter, what it sends is bounded, and
// it gets no variable of the worker's that its configuration does not name.
//
// A tool is called SERVER__TOOL: see ToolName. A server is taken to be stateless:
// one connection serves all agents of a worker, and any worker may get any call. With
// one that is configured as stateful each agent has a session of its own, on one worker:
// see Servers.Bind.
//
// Start reading at Servers.Find.
package mcp
