package domain_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

// standing is the n-th standing approval of a session.
func standing(n int) domain.StandingApproval {
	return domain.Wait{
		ToolExecutionID: executionID(1).Step(1).Tool(n), Tool: "pay", Arguments: `{"amount":7}`, Digest: domain.CallDigest("pay", `{"amount":7}`),
	}.StandingIn(domain.StandingContext(domain.ToolSpec{Name: "pay"}, nil), domain.Answer{By: "ann", At: after(n), Reason: "as agreed"})
}

// standingState has three standing approvals, of which the first was revoked.
func standingState() domain.AgentState {
	s := busyState()
	for n := range 3 {
		s = must(s.WithStandingApproval(standing(n), after(9)))
	}
	return must(s.WithRevocation(standing(0).ID, domain.Revocation{By: "bob", Reason: "too much"}, after(10)))
}

func TestStandingApprovals(t *testing.T) {
	t.Parallel()
	s := standingState()
	all := s.StandingApprovals
	require.Len(t, all, 3)
	require.Equal(t, &domain.Revocation{By: "bob", At: after(10), Reason: "too much"}, all[0].Revocation)
	found, ok := s.StandingFor(standing(1).Digest, standing(1).Context)
	require.True(t, ok)
	require.Equal(t, standing(1), found)
	_, ok = s.StandingFor(domain.CallDigest("pay", `{"amount":8}`), standing(1).Context)
	require.False(t, ok, "of other arguments")
	_, ok = s.StandingFor(standing(1).Digest, domain.Digest{})
	require.False(t, ok, "in another context")
	_, err := s.WithRevocation(standing(0).ID, domain.Revocation{}, after(11))
	require.ErrorContains(t, err, "was revoked already, at 2026-01-02T12:00:10Z by bob")
	_, err = s.WithRevocation(standing(7).ID, domain.Revocation{}, after(11))
	require.ErrorContains(t, err, "is no standing approval of this session")
	next := must(must(s.WithExecutionCompleted(after(12))).ForNextExecution(after(13)))
	require.Len(t, next.StandingApprovals, 3, "they are the session's")
}

// TestStandingApprovalsAreBounded: what was revoked makes room, and nothing that holds does.
func TestStandingApprovalsAreBounded(t *testing.T) {
	t.Parallel()
	s := busyState()
	for n := range domain.MaxStanding {
		s = must(s.WithStandingApproval(standing(n), after(9)))
	}
	_, err := s.WithStandingApproval(standing(domain.MaxStanding), after(10))
	require.ErrorContains(t, err, "always: the session has 50 standing approvals")
	s = must(s.WithRevocation(standing(3).ID, domain.Revocation{}, after(10)))
	s = must(s.WithStandingApproval(standing(domain.MaxStanding), after(10)))
	all := s.StandingApprovals
	require.Len(t, all, domain.MaxStanding)
	require.NotContains(t, all, standing(3))
	require.Equal(t, standing(domain.MaxStanding), all[len(all)-1])

	long := standing(0)
	long.Arguments, long.Reason = strings.Repeat("x", 1000), strings.Repeat("y", 1000)
	kept := must(busyState().WithStandingApproval(long, after(9))).StandingApprovals[0]
	require.Len(t, kept.Arguments, 300)
	require.Len(t, kept.Reason, domain.MaxStandingReason)
}

// TestStandingContext is another one where the tool is, or whoever the agent acts for.
func TestStandingContext(t *testing.T) {
	t.Parallel()
	tool := domain.ToolSpec{Name: "pay", Description: "pays", Schema: json.RawMessage(`{}`), Effect: domain.Keyed, Pin: domain.DigestOf([]byte("pin"))}
	customer := domain.Trusted{"customer": json.RawMessage(`1`)}
	first := domain.StandingContext(tool, customer)
	require.Equal(t, first, domain.StandingContext(tool, domain.Trusted{"customer": json.RawMessage(`1`)}))
	empty := tool
	empty.Disclaims, empty.EffectKey = []domain.Hint{}, []string{}
	require.Equal(t, first, domain.StandingContext(empty, customer))
	seen := map[domain.Digest]string{first: "as it was"}
	for name, change := range map[string]func(*domain.ToolSpec){
		"name": func(s *domain.ToolSpec) { s.Name = "pay2" }, "description": func(s *domain.ToolSpec) { s.Description = "pays twice" },
		"schema": func(s *domain.ToolSpec) { s.Schema = json.RawMessage(`{"type":"object"}`) },
		"effect": func(s *domain.ToolSpec) { s.Effect = domain.AtMostOnce }, "pin": func(s *domain.ToolSpec) { s.Pin = domain.Digest{} },
		"hints":      func(s *domain.ToolSpec) { s.Disclaims = []domain.Hint{domain.Destructive} },
		"effect key": func(s *domain.ToolSpec) { s.EffectKey = []string{"order"} },
		"other keys": func(s *domain.ToolSpec) { s.EffectKey = []string{"order", "day"} },
	} {
		other := tool
		change(&other)
		digest := domain.StandingContext(other, customer)
		require.NotContains(t, seen, digest, name)
		seen[digest] = name
	}
	require.NotEqual(t, first, domain.StandingContext(tool, nil))
	require.NotEqual(t, first, domain.StandingContext(tool, domain.Trusted{"customer": json.RawMessage(`2`)}))
}
