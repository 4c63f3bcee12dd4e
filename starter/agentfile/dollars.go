package agentfile

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"everstep/domain"
)

// dollars reads a sum of money, exactly: 0.5, or the same in quotes. The sum
// that is handed on is in nano-dollars.
func (r *reader) dollars(name, unit string, most int64, then func(int64)) key {
	return key{name, func(field string, node *yaml.Node) {
		if node.Kind != yaml.ScalarNode {
			r.problem(node, field, "is %s; give %s such as 0.5", describe(node), unit)
			return
		}
		nano, wrong := nanoDollars(node.Value, unit, most)
		if wrong != "" {
			r.problem(node, field, "is %q%s", shorten(node.Value), wrong)
			return
		}
		then(nano)
	}}
}

// nanoDollars reads a sum of dollars up to a bound, without a currency's sign:
// the schema of agent files has none.
func nanoDollars(text, unit string, most int64) (nano int64, wrong string) {
	nano, err := domain.ParseUSD(text)
	switch {
	case strings.HasPrefix(text, "$"):
		return 0, "; give " + unit + " from 0 on as a plain decimal such as 0.5"
	case err != nil:
		return 0, ", which " + err.Error()
	case nano > most:
		return 0, ", which is too much; give at most " + domain.USD(most) + " " + unit
	}
	return nano, ""
}
