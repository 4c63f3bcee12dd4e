package client

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"everstep/domain"
	"everstep/domain/contract"
)

// maxIndexed bounds one entry of the search attribute: servers index no long ones.
const maxIndexed = 200

// entry is how a trusted value stands in the search attribute: a text without a
// quote or backslash that a query would have to escape. SQLite, which the dev server has, fails at double quotes too.
func entry(name string, value json.RawMessage) string {
	var b strings.Builder
	b.WriteString(name + "=")
	for _, c := range value {
		plain := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-_.:@+/ ", c) >= 0
		if plain {
			b.WriteByte(c)
			continue
		}
		fmt.Fprintf(&b, "%%%02X", c)
	}
	return b.String()
}

// checkIndexed refuses names that are none, and values that are too long to be found by.
func checkIndexed(values domain.Trusted, names []string) error {
	for _, name := range names {
		if err := domain.CheckTrustedName(name); err != nil {
			return invalidf("index_trusted: %s", err)
		}
		if long := len(entry(name, values[name])); values[name] != nil && long > maxIndexed {
			return domain.TooLargef("trusted.%s: takes %d bytes in the search attribute, where at most %d fit; "+
				"give a shorter one, or leave the name out of those that are indexed", name, long, maxIndexed)
		}
	}
	return nil
}

// indexed are the entries of a new agent, where the namespace has the attribute.
func (c *Client) indexed(in contract.SessionInput, has attributes) (entries []string) {
	if !has.trusted {
		return nil
	}
	values := carried(in).SessionTrusted
	if in.Options != nil && (in.Carry == nil || in.Fork != nil) {
		values = in.Options.Trusted
	}
	for _, name := range values.Names() {
		if slices.Contains(c.cfg.IndexTrusted, name) {
			entries = append(entries, entry(name, values[name]))
		}
	}
	return entries
}

// having is the part of a query that finds agents by their trusted values.
func (c *Client) having(ctx context.Context, values domain.Trusted) (query string, _ error) {
	values, err := domain.Trusted(nil).With(values)
	if err == nil {
		err = checkIndexed(values, c.cfg.IndexTrusted)
	}
	if err != nil || len(values) == 0 {
		return "", err
	}
	for _, name := range values.Names() {
		if !slices.Contains(c.cfg.IndexTrusted, name) {
			return "", invalidf("trusted.%s: agents are not found by it: trusted values are in no search attribute unless "+
				"EVERSTEP_INDEX_TRUSTED (IndexTrusted of client.Config) names them, here and where agents are started", name)
		}
		query += fmt.Sprintf(" AND %s = '%s'", contract.AttributeTrusted, entry(name, values[name]))
	}
	has, err := c.registered(ctx)
	if err != nil {
		return "", err
	}
	if !has.trusted {
		return "", refused("list: the namespace has no search attribute %s of type KeywordList; "+
			"temporal operator search-attribute create --namespace %s --name %s --type KeywordList makes it, for agents that begin from then on",
			contract.AttributeTrusted, c.cfg.Namespace, contract.AttributeTrusted)
	}
	return query, nil
}
