package host

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWorkflowsKeptInMemory(t *testing.T) {
	t.Parallel()
	require.Equal(t, 5242, workflowsIn(512<<20))
	require.Equal(t, fewestWorkflows, workflowsIn(1<<20))
	require.Positive(t, workflowShare())
}

func TestTotalMemory(t *testing.T) {
	t.Parallel()
	const meminfo = "MemTotal:        8000000 kB\nMemFree:          100000 kB\n"
	for name, test := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"the machine's":             {map[string]string{"/proc/meminfo": meminfo}, 8000000 << 10},
		"no limit":                  {map[string]string{"/proc/meminfo": meminfo, "/sys/fs/cgroup/memory.max": "max\n"}, 8000000 << 10},
		"a limit":                   {map[string]string{"/proc/meminfo": meminfo, "/sys/fs/cgroup/memory.max": "1073741824\n"}, 1 << 30},
		"a limit, version 1":        {map[string]string{"/proc/meminfo": meminfo, "/sys/fs/cgroup/memory/memory.limit_in_bytes": "1073741824\n"}, 1 << 30},
		"a limit above the machine": {map[string]string{"/proc/meminfo": meminfo, "/sys/fs/cgroup/memory.max": "9223372036854771712\n"}, 8000000 << 10},
		"a limit alone":             {map[string]string{"/sys/fs/cgroup/memory.max": "1073741824\n"}, 1 << 30},
		"rubbish":                   {map[string]string{"/proc/meminfo": "MemTotal: many kB\n"}, 0},
		"nothing":                   {nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := totalMemory(func(path string) ([]byte, error) {
				if text, ok := test.files[path]; ok {
					return []byte(text), nil
				}
				return nil, errors.New("no such file")
			})
			require.Equal(t, test.want, got)
		})
	}
}
