// Package build says which build of Everstep a program is. What one build has begun another need not be able to replay, so
// workers, records and saved states tell it.
package build

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"sync"
)

const (
	module    = "everstep"
	sdkModule = "go.temporal.io/sdk"
)

// ID names the build of this program: the version of module everstep and that of Temporal's SDK. Where the source tree was
// modified or its revision is unknown, a digest of the program is added, so that two such builds differ. The digest is
// computed once, when it is first needed.
var ID = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return of(info, digest)
})

// of names a build by what the Go toolchain has noted in it. Only what its version does not name takes the digest.
func of(info *debug.BuildInfo, digest func() string) string {
	version, exact := versionOf(info)
	if !exact {
		version += "+" + digest()
	}
	return fmt.Sprintf("%s/sdk-%s", version, cmp.Or(dependency(info, sdkModule).Version, "unknown"))
}

// versionOf is the version or revision of Everstep, and whether that names its code exactly.
func versionOf(info *debug.BuildInfo) (version string, exact bool) {
	if info.Main.Path != module {
		used := dependency(info, module)
		if used.Version == "" || used.Version == "(devel)" {
			return "devel", false
		}
		return used.Version, used.Path == module
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	version, dirty := strings.CutSuffix(info.Main.Version, "+dirty")
	revision := settings["vcs.revision"]
	if version == "" || version == "(devel)" {
		version = cmp.Or(revision[:min(len(revision), 12)], "devel")
	}
	return version, version != "devel" && !dirty && settings["vcs.modified"] != "true"
}

// dependency is a module as it was built in: what replaces another is that, and a folder has no version.
func dependency(info *debug.BuildInfo, path string) debug.Module {
	for _, dep := range info.Deps {
		if dep.Path == path {
			return *cmp.Or(dep.Replace, dep)
		}
	}
	return debug.Module{}
}

// digest is how the SHA-256 of this program's file begins.
func digest() string {
	// The file may have been replaced since the program was started: Linux has the one that runs.
	file, err := os.Open("/proc/self/exe")
	if err != nil {
		path, _ := os.Executable() // there is no file without a name
		if file, err = os.Open(path); err != nil {
			return "unknown"
		}
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "unknown"
	}
	return hex.EncodeToString(sum.Sum(nil)[:6])
}
