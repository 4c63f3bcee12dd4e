package domain_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

// TestWrappedCalls: what models invent around calls is taken apart where all of it exists.
func TestWrappedCalls(t *testing.T) {
	t.Parallel()
	exists := func(tool string) bool { return tool == "look" || tool == "read" || tool == "functions.own" }
	call := func(id, name, arguments string) domain.ToolCall {
		return domain.ToolCall{ID: id, Name: name, Arguments: arguments}
	}
	const both = `{"tool_uses":[{"recipient_name":"functions.look","parameters":{"a":1.0}},{"recipient_name":"read","parameters":"{\"b\":2}"},{"recipient_name":"functions.read"}]}`
	for name, test := range map[string]struct {
		call  domain.ToolCall
		want  []domain.ToolCall
		wraps bool
	}{
		"plain":               {call: call("1", "look", "x"), want: []domain.ToolCall{call("1", "look", "x")}},
		"unknown":             {call: call("1", "nothing", "{}"), want: []domain.ToolCall{call("1", "nothing", "{}")}},
		"a prefix":            {call: call("1", "functions.look", "x"), want: []domain.ToolCall{call("1", "look", "x")}, wraps: true},
		"a prefix of its own": {call: call("1", "functions.own", "{}"), want: []domain.ToolCall{call("1", "functions.own", "{}")}, wraps: true},
		"a prefix of nothing": {call: call("1", "functions.no", "{}"), want: []domain.ToolCall{call("1", "functions.no", "{}")}, wraps: true},
		"several": {call: call("1", "multi_tool_use.parallel", both), wraps: true,
			want: []domain.ToolCall{call("1", "look", `{"a":1.0}`), call("1_2", "read", `{"b":2}`), call("1_3", "read", "{}")}},
		"several, without an id": {call: call("", "functions.multi_tool_use_parallel", `{"tool_uses":[{"recipient_name":"look","parameters":null},{"recipient_name":"read","parameters":{}}]}`), wraps: true,
			want: []domain.ToolCall{call("", "look", "{}"), call("", "read", "{}")}},
		"one that does not exist": {call: call("1", "multi_tool_use.parallel", `{"tool_uses":[{"recipient_name":"look"},{"recipient_name":"no"}]}`), wraps: true,
			want: []domain.ToolCall{call("1", "multi_tool_use.parallel", `{"tool_uses":[{"recipient_name":"look"},{"recipient_name":"no"}]}`)}},
		"around nothing": {call: call("1", "multi_tool_use.parallel", `{"tool_uses":[]}`), wraps: true, want: []domain.ToolCall{call("1", "multi_tool_use.parallel", `{"tool_uses":[]}`)}},
		"no JSON":        {call: call("1", "multi_tool_use.parallel", `{"tool_uses":[`), wraps: true, want: []domain.ToolCall{call("1", "multi_tool_use.parallel", `{"tool_uses":[`)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, test.call.Direct(exists))
			require.Equal(t, test.wraps, test.call.Wraps())
		})
	}
}
