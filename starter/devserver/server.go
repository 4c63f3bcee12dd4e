package devserver

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
)

const (
	loopback  = "127.0.0.1"
	namespace = "default"

	preferredPort   = 7233
	preferredUIPort = 8233
)

// A Server is a dev server that answers.
type Server struct {
	// Address is host and port for clients, UIURL is the Web UI for people.
	Address string `json:"address"`
	UIURL   string `json:"ui_url"`
	// Namespace is the one that exists, with the search attributes AgentName,
	// AgentStatus and StopReason.
	Namespace string `json:"namespace"`
	// StateFile is absolute and free of symlinks.
	StateFile string `json:"state_file"`
	// LogFile is what the server prints, errors only.
	LogFile string `json:"log_file"`
	// Version is the server's version, Binary the CLI that it runs in.
	Version string `json:"version"`
	Binary  string `json:"binary"`
	// PID is the server's process, not the supervisor's.
	PID int `json:"pid"`
	// Started is true for the one call of [Acquire] that brought it up.
	Started bool `json:"-"`
}

// tuning is dynamic configuration as JSON. With the server's defaults each
// hand-off between server and worker waits on limits meant for clusters: 100 ms
// an activity, 13 with these.
func tuning() map[string]string {
	return map[string]string{
		"history.transferProcessorMaxPollRPS":    "2000",
		"history.timerProcessorMaxPollRPS":       "2000",
		"history.visibilityProcessorMaxPollRPS":  "2000",
		"matching.numTaskqueueReadPartitions":    "1",
		"matching.numTaskqueueWritePartitions":   "1",
		"system.enableActivityEagerExecution":    "true",
		"history.MaxBufferedQueryCount":          "16",
		"history.workflowIdReuseMinimalInterval": `"10ms"`,
		// How late a timer may fire: a second by default, also for a retry after 100 ms.
		"history.timerProcessorMaxTimeShift": `"100ms"`,
		// New work overtakes what waits in a queue until that is so old: 5 s by
		// default, so that who just had a turn under a rate limit has the next one too.
		"matching.backlogNegligibleAge": `"500ms"`,
		// Nothing on this machine needs to ask the vendor for news.
		"frontend.enableServerVersionCheck": "false",
		// Agents use no Nexus, and its HTTP endpoints ask for no Host.
		"system.enableNexus": "false",
	}
}

// arguments is the command line of the temporal CLI.
func (s spec) arguments(p places) []string {
	args := []string{
		"server", "start-dev",
		"--ip", loopback,
		"--port", strconv.Itoa(p.server),
		"--ui-ip", p.hidden.IP.String(),
		"--ui-port", strconv.Itoa(p.hidden.Port),
		"--db-filename", s.StateFile,
		"--sqlite-pragma", "journal_mode=wal",
		"--sqlite-pragma", "synchronous=1",
		"--log-level", "error",
		"--search-attribute", "AgentName=Keyword",
		"--search-attribute", "AgentStatus=Keyword",
		"--search-attribute", "StopReason=Keyword",
	}
	if s.CodecEndpoint != "" {
		args = append(args, "--ui-codec-endpoint", s.CodecEndpoint)
	}
	dynamic := tuning()
	// The HTTP API cannot be shut, is found by trying all ports, and takes what any
	// page posts. A page cannot choose the Host of its requests.
	dynamic["frontend.httpAllowedHosts"] = fmt.Sprintf("[%q]", p.secret)
	maps.Copy(dynamic, s.Dynamic)
	for _, key := range slices.Sorted(maps.Keys(dynamic)) {
		args = append(args, "--dynamic-config-value", key+"="+dynamic[key])
	}
	return args
}
