package host

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/openaichat"
	"everstep/domain"
)

// KeyVariables are all that hold keys.
func KeyVariables() []string {
	var names []string
	for _, v := range vendors() {
		for _, name := range v.keys() {
			if name != v.KeyFileVariable() {
				names = append(names, name)
			}
		}
	}
	return names
}

// madeUp is a vendor that has no field in a Config.
func madeUp() vendor {
	d := openaichat.Dialect{Name: "made-up", Server: "https://api.made-up.example/v1", Variables: "MADE_UP"}
	return vendor{API: d.API(), otherKey: "MADE_UP_TOKEN"}
}

type variableMap map[string]string

func (m variableMap) LookupEnv(name string) (string, bool) {
	value, ok := m[name]
	return value, ok
}

func (m variableMap) Environ() []string { return nil }

func TestKeysOfTheEnvironment(t *testing.T) {
	t.Parallel()
	program, inFile := Access{BaseURL: "http://program:1/v1", Key: "sk-program"}, Access{KeyFile: "program"}
	for _, v := range append(vendors(), madeUp()) {
		key, file, url := v.KeyVariable(), v.KeyFileVariable(), v.BaseURLVariable()
		type row struct {
			base, want Access
			values     variableMap
			from       string
		}
		tests := map[string]row{
			"nothing":           {},
			"the program alone": {base: program, want: program},
			"a base URL":        {base: program, values: variableMap{url: "http://own:1/v1"}, want: Access{BaseURL: "http://own:1/v1", Key: "sk-program"}},
			"an empty base URL": {base: program, values: variableMap{url: ""}, want: program},
			"a key":             {values: variableMap{key: "sk-own"}, want: Access{Key: "sk-own"}, from: key},
			"a file":            {values: variableMap{file: "own"}, want: Access{KeyFile: "own"}, from: file},
			"a key over a file": {base: inFile, values: variableMap{key: "sk-own"}, want: Access{Key: "sk-own"}, from: key},
			"a file over a key": {base: program, values: variableMap{file: "own"}, want: Access{BaseURL: program.BaseURL, KeyFile: "own"}, from: file},
		}
		if other := v.otherKey; other != "" {
			tests["another name"] = row{values: variableMap{other: "sk-other"}, want: Access{Key: "sk-other"}, from: other}
			tests["another name, and the first"] = row{values: variableMap{other: "sk-other", key: "sk-own"}, want: Access{Key: "sk-own"}, from: key}
			tests["another name, and a file"] = row{values: variableMap{other: "sk-other", file: "own"}, want: Access{KeyFile: "own"}, from: file}
		}
		for name, test := range tests {
			t.Run(v.Name+" "+name, func(t *testing.T) {
				t.Parallel()
				var config Config
				v.grant(&config, test.base)
				read := config
				from, err := v.fromEnvironment(&read, test.values)
				require.NoError(t, err)
				require.Equal(t, test.from, from)
				require.Equal(t, test.want, read.Vendors[v.Name])
				require.Equal(t, test.base, config.Vendors[v.Name], "the program's own stays as it was")
				for _, other := range vendors() {
					if other.Name != v.Name {
						require.Zero(t, read.Vendors[other.Name], "no other vendor gets the key")
					}
				}
			})
		}
	}
}

// TestVendorsAreApart: no two have a name or a variable in common, and all APIs of
// one have the same variables.
func TestVendorsAreApart(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, v := range vendors() {
		for _, name := range append(v.keys(), v.BaseURLVariable()) {
			require.False(t, seen[name], name)
			seen[name] = true
			require.Regexp(t, `^[A-Z][A-Z0-9_]*$`, name)
		}
		for _, api := range v.apis() {
			require.False(t, seen[api.Name], api.Name)
			seen[api.Name] = true
			require.Equal(t, v.Variables, api.Variables)
			require.True(t, atServer(api, api.Server))
		}
	}
}

func TestConfigOfNoVendor(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"nobody", "openai-chat"} {
		_, err := Config{Vendors: map[string]Access{name: {}}}.providers()
		require.EqualError(t, err, fmt.Sprintf("vendors: %q is none; the vendors are: %s", name, strings.Join(vendorNames(), ", ")))
		require.Equal(t, domain.Invalid, domain.AsError(err).Kind)
	}
}

// TestDocumentsNameEachVendor holds what people read, and the stack of
// docker-compose.yml, against the vendors that there are.
func TestDocumentsNameEachVendor(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	read := func(paths ...string) (text string) {
		for _, path := range paths {
			data, err := os.ReadFile(filepath.Join(root, path))
			require.NoError(t, err)
			text += string(data)
		}
		return text
	}
	topics, err := fs.Glob(os.DirFS(root), "starter/help/*.md")
	require.NoError(t, err)
	docs, compose, example := read(append(topics, "README.md")...), read("docker-compose.yml"), read(".env.example")
	var lacking []string
	holds := func(file, text, words string) {
		if !strings.Contains(text, words) {
			lacking = append(lacking, fmt.Sprintf("%s lacks %q", file, strings.TrimSpace(words)))
		}
	}
	for _, v := range vendors() {
		for _, name := range []string{v.KeyVariable(), v.BaseURLVariable()} {
			holds("docker-compose.yml, for its workers,", compose, "\n      "+name+":\n")
			holds(".env.example", example, "\n#"+name+"=\n")
			holds("README.md, or a help topic,", docs, "`"+name+"`")
		}
		if v.otherKey != "" {
			holds("README.md, or a help topic,", docs, "`"+v.otherKey+"`")
		}
		for _, api := range v.apis() {
			holds("README.md, or a help topic,", docs, "`"+api.Name+"/")
			holds(".env.example", example, api.Name+"/…")
		}
	}
	require.True(t, len(lacking) == 0, strings.Join(lacking, "\n"))
}

// TestEachAdapterHasACase: no package of an API goes untested by what is asked of
// all of them.
func TestEachAdapterHasACase(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("vendor.go")
	require.NoError(t, err)
	packages := regexp.MustCompile(`API: (\w{2,})\.API\(\)|range (\w+)\.Dialects\(\)`).FindAllStringSubmatch(string(source), -1)
	require.NotEmpty(t, packages)
	for _, found := range packages {
		_, err := os.Stat(filepath.Join("..", "..", "testsuite", "providers", found[1]+found[2]+"_test.go"))
		require.NoError(t, err, "testsuite/providers has no case for the adapter %s", found[1]+found[2])
	}
}
