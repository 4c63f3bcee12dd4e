package whole_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client"
	"everstep/worker/host"
)

// painting is of codes that move nothing.
var painting = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// back takes lines back.
var back = regexp.MustCompile(`^\r\x1b\[([0-9]+)A\x1b\[J`)

// screen is what a terminal shows after all that was written to it so far,
// without what is not there completely.
func (x *terminal) screen() string {
	lines := []string{""}
	for rest := painting.ReplaceAllString(x.out.String(), ""); rest != ""; {
		if found := back.FindStringSubmatch(rest); found != nil {
			n, _ := strconv.Atoi(found[1])
			lines = append(lines[:max(len(lines)-1-n, 0)], "")
			rest = rest[len(found[0]):]
			continue
		}
		switch next := rest[0]; {
		case next == '\x1b':
			return strings.Join(lines, "\n") // a code of which the end is still to come
		case next == '\n':
			lines = append(lines, "")
		case next != '\r':
			lines[len(lines)-1] += rest[:1]
		}
		rest = rest[1:]
	}
	return strings.Join(lines, "\n")
}

// untilScreen waits for a text on the screen.
func (x *terminal) untilScreen(text string) {
	x.t.Helper()
	require.Eventually(x.t, func() bool { return strings.Contains(x.screen(), text) }, patience, 10*time.Millisecond,
		"the screen never showed %q", text)
}

// TestLiveTextOnATerminal: thinking and text are drawn while they come, what is
// withdrawn disappears and a line says so, and what a stop leaves stays.
func TestLiveTextOnATerminal(t *testing.T) {
	t.Parallel()
	s, server := pacedStack(t, host.Config{}, pacedChat)
	begun := s.beginPaced(t, domain.Definition{})
	x := newCLI(t).at(s).on(xterm).terminal("watch", begun.ID)
	first := server.next(t)
	first.thinks("DOOMED thought")
	x.untilScreen("⋯ thinking\n      DOOMED thought\n")
	first.text("DOOMED text")
	x.untilScreen("    DOOMED text\n")
	require.NotContains(t, x.screen(), "thought\n", "the answer takes its place")
	first.cut()
	x.untilScreen("· what came so far of attempt 1 is withdrawn\n")
	second := server.next(t)
	x.untilScreen("⋯ thinking · attempt 2\n")
	require.NotContains(t, x.screen(), "DOOMED")
	second.text("KEPT text")
	x.untilScreen("⋯ writing · attempt 2\n    KEPT text\n")
	_, err := s.agents.Stop(within(t), begun.ID, client.StopOptions{Mode: contract.StopNow})
	require.NoError(t, err)
	require.Equal(t, 3, x.wait().code)
	left := x.screen()
	requireInOrder(t, left, "attempt 1 is withdrawn", "    KEPT text\n", "stopped (user_requested)")
	require.NotContains(t, left, "⋯")
	require.NotContains(t, left, "DOOMED")
}
