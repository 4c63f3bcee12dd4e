package build

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestABuildIsTheVersionOfEverstepAndOfTheSDK(t *testing.T) {
	t.Parallel()
	sdk := &debug.Module{Path: "go.temporal.io/sdk", Version: "v1.50.0"}
	revision := func(modified string) []debug.BuildSetting {
		return []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"}, {Key: "vcs.modified", Value: modified}}
	}
	own := func(version string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Path: "everstep", Version: version}, Deps: []*debug.Module{sdk}, Settings: settings}
	}
	used := func(dep debug.Module) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Path: "example.com/weather", Version: "(devel)"}, Deps: []*debug.Module{{Path: "example.com/a", Version: "v3.0.0"}, &dep, sdk}}
	}
	tests := []struct {
		name string
		info *debug.BuildInfo
		want string
	}{
		{"a release", own("v1.2.3"), "v1.2.3/sdk-v1.50.0"},
		{"a revision that Go has made a version of", own("v0.0.0-20261126063017-0123456789ab", revision("false")...), "v0.0.0-20261126063017-0123456789ab/sdk-v1.50.0"},
		{"that of a modified tree", own("v0.0.0-20261126063017-0123456789ab+dirty", revision("true")...), "v0.0.0-20261126063017-0123456789ab+d1935f/sdk-v1.50.0"},
		{"a revision alone", own("(devel)", revision("false")...), "0123456789ab/sdk-v1.50.0"},
		{"that of a modified tree alone", own("(devel)", revision("true")...), "0123456789ab+d1935f/sdk-v1.50.0"},
		{"a tree of which nothing is known", own("(devel)"), "devel+d1935f/sdk-v1.50.0"},
		{"no version", own(""), "devel+d1935f/sdk-v1.50.0"},
		{"a worker of somebody's own", used(debug.Module{Path: "everstep", Version: "v1.2.3"}), "v1.2.3/sdk-v1.50.0"},
		{"one with Everstep from a folder", used(debug.Module{Path: "everstep", Version: "v1.2.3", Replace: &debug.Module{Path: "../everstep"}}), "devel+d1935f/sdk-v1.50.0"},
		{"one with Everstep from a workspace", used(debug.Module{Path: "everstep", Version: "(devel)"}), "devel+d1935f/sdk-v1.50.0"},
		{"one with a fork of Everstep", used(debug.Module{Path: "everstep", Version: "v1.2.3", Replace: &debug.Module{Path: "example.com/fork", Version: "v1.2.4"}}), "v1.2.4+d1935f/sdk-v1.50.0"},
		{"another SDK", &debug.BuildInfo{Main: debug.Module{Path: "everstep", Version: "v1.2.3"}, Deps: []*debug.Module{{Path: "go.temporal.io/sdk", Version: "v1.51.0"}}}, "v1.2.3/sdk-v1.51.0"},
		{"nothing was noted", &debug.BuildInfo{}, "devel+d1935f/sdk-unknown"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, of(tt.info, func() string { return "d1935f" }))
		})
	}
}

func TestWhatIsNamedByItsVersionIsNotRead(t *testing.T) {
	t.Parallel()
	of(&debug.BuildInfo{Main: debug.Module{Path: "everstep", Version: "v1.2.3"}}, func() string {
		require.Fail(t, "a release needs no digest")
		return ""
	})
}

func TestTheDigestIsOfTheProgram(t *testing.T) {
	t.Parallel()
	path, err := os.Executable()
	require.NoError(t, err)
	program, err := os.ReadFile(path)
	require.NoError(t, err)
	sum := sha256.Sum256(program)
	require.Equal(t, hex.EncodeToString(sum[:6]), digest())
}
