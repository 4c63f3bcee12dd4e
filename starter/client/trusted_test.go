package client

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
)

// TestOnlyWhatTheDeploymentNamesIsIndexed, in a form that a query needs not escape.
func TestOnlyWhatTheDeploymentNamesIsIndexed(t *testing.T) {
	t.Parallel()
	c := newFake().client()
	in := contract.SessionInput{Options: &domain.StartOptions{Trusted: domain.Trusted{
		"customer": json.RawMessage(`"4711"`), "tenant": json.RawMessage(`{"a":"o'neill\\"}`), "secretive": json.RawMessage(`1`),
	}}}
	has := attributes{trusted: true}
	require.Empty(t, c.indexed(in, has))
	c.cfg.IndexTrusted = []string{"customer", "tenant", "order"}
	require.Equal(t, []string{`customer=%224711%22`, `tenant=%7B%22a%22:%22o%27neill%5C%5C%22%7D`}, c.indexed(in, has))
	require.Empty(t, c.indexed(in, attributes{}), "the namespace has no such attribute")
}

func TestFindingAgentsByTrustedValues(t *testing.T) {
	t.Parallel()
	values := func(name, value string) domain.Trusted { return domain.Trusted{name: json.RawMessage(value)} }
	for name, test := range map[string]struct {
		with    domain.Trusted
		indexed []string
		query   string
		says    string
	}{
		"nothing":       {indexed: []string{"customer"}},
		"not indexed":   {values("customer", `1`), []string{"tenant"}, "", "trusted.customer: agents are not found by it: trusted values are in no search attribute unless EVERSTEP_INDEX_TRUSTED"},
		"nothing is":    {values("customer", `1`), nil, "", "trusted.customer: agents are not found by it"},
		"no name":       {values("Customer", `1`), []string{"customer"}, "", `trusted: "Customer" is no name`},
		"a wrong index": {values("customer", `1`), []string{"Customer"}, "", `index_trusted: "Customer" is no name`},
		"too long":      {values("customer", `"`+strings.Repeat("x", 200)+`"`), []string{"customer"}, "", "trusted.customer: takes 215 bytes in the search attribute, where at most 200 fit"},
		"unregistered":  {values("customer", `1`), []string{"customer"}, "", "has no search attribute AgentTrusted of type KeywordList"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newFake().client()
			c.cfg.IndexTrusted = test.indexed
			query, err := c.having(t.Context(), test.with)
			require.Equal(t, test.query, query)
			if test.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.says)
		})
	}
	c := newFake().client()
	c.cfg.IndexTrusted, c.known.found = []string{"customer", "tenant"}, &attributes{trusted: true}
	query, err := c.having(t.Context(), domain.Trusted{"tenant": json.RawMessage(`"a"`), "customer": json.RawMessage(`1`)})
	require.NoError(t, err)
	require.Equal(t, ` AND AgentTrusted = 'customer=1' AND AgentTrusted = 'tenant=%22a%22'`, query)
}
