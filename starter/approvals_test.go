package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/starter/client"
	"everstep/starter/render"
)

// waitingPay is a call that waits, changed: with other arguments than are shown.
func waitingPay(arguments string, changed bool) client.WaitingCall {
	call := client.WaitingCall{ID: "notes", Wait: domain.Wait{Kind: domain.WaitApproval, Step: 1, Tool: "pay", Arguments: arguments}}
	call.Digest = domain.CallDigest("pay", arguments)
	if err := call.ToolExecutionID.UnmarshalText([]byte("3f000000-0000-4000-8000-000000000000")); err != nil {
		panic(err)
	}
	if changed {
		call.Arguments = ""
	}
	return call
}

// asking is a program that is asked by nobody, and what it has written.
func asking(t *testing.T) (*program, *locked) {
	t.Helper()
	var said locked
	return &program{in: strings.NewReader("y\n"), out: render.Plain(&said), err: render.Plain(&said), now: func() time.Time { return today }}, &said
}

// TestWhatNobodyCanSeeIsNotApproved, also by who names the call.
func TestWhatNobodyCanSeeIsNotApproved(t *testing.T) {
	t.Parallel()
	call := waitingPay(`{"amount":1}`, true)
	for _, named := range []bool{false, true} {
		p, said := asking(t)
		yes, err := p.seen(t.Context(), call, named)
		require.False(t, yes)
		require.ErrorIs(t, err, &client.Error{Class: client.Refused})
		require.ErrorContains(t, err, "what is shown of call 3f000000 is not what would run")
		require.Empty(t, said.String())
	}
	known := waitingPay(`{"amount":1}`, false)
	p, _ := asking(t)
	yes, err := p.seen(t.Context(), known, true)
	require.NoError(t, err)
	require.True(t, yes, "who names a call has seen it")
	yes, err = p.seen(t.Context(), known, false)
	require.False(t, yes)
	require.ErrorContains(t, err, "nobody can have seen what would run", "nobody is asked")
}

// TestACallThatIsCutIsNotApprovedByYes in place: there is no client that could do it.
func TestACallThatIsCutIsNotApprovedByYes(t *testing.T) {
	t.Parallel()
	cut := waitingPay(`{"note":"`+strings.Repeat("x", 100)+`"}`, false)
	cut.Wait = cut.Cut(20)
	require.True(t, seeable(cut))
	for _, word := range []string{"y", "yes", " Y "} {
		p, said := asking(t)
		a := &asker{program: p}
		done, decided := a.hear(context.Background(), cut, word)
		require.Equal(t, []bool{false, false}, []bool{done, decided}, "it is asked again")
		require.Contains(t, said.String(), "only a part of the arguments is shown")
		require.Contains(t, strings.Join(strings.Fields(said.String()), " "), "approve notes 3f000000")
	}
}

// TestHowToAnswer names for each kind of wait that people are asked about in passing the commands that answer it.
func TestHowToAnswer(t *testing.T) {
	t.Parallel()
	p, _ := asking(t)
	said := map[domain.WaitKind]string{}
	for _, rule := range domain.WaitRules() {
		if !rule.Outlasts {
			said[rule.Kind] = p.howToAnswer(callIn("notes", client.Event{Tool: "pay", ToolExecutionID: waitingPay("{}", false).ToolExecutionID, Wait: &domain.Wait{Kind: rule.Kind}}))
		}
	}
	called := p.called()
	require.Equal(t, map[domain.WaitKind]string{
		domain.WaitApproval: "pay waits for approval: `" + called + " approve notes 3f000000`, `" + called + " deny notes 3f000000`, --approvals allow lets all calls run",
		domain.WaitQuestion: "pay waits for an answer: `" + called + " answer notes 3f000000 \"…\"`",
	}, said)
}
