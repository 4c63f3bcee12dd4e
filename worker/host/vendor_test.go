package host

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference/wire"
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
	d := openaichat.Dialect{Vendor: wire.API{Name: "made-up", Server: "https://api.made-up.example/v1", Variables: "MADE_UP"}}
	api := d.API()
	api.OtherKey = "MADE_UP_TOKEN"
	return vendor{API: api}
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
		if other := v.OtherKey; other != "" {
			tests["another name"] = row{values: variableMap{other: "sk-other"}, want: Access{Key: "sk-other"}, from: other}
			tests["another name, and the first"] = row{values: variableMap{other: "sk-other", key: "sk-own"}, want: Access{Key: "sk-own"}, from: key}
			tests["another name, and a file"] = row{values: variableMap{other: "sk-other", file: "own"}, want: Access{KeyFile: "own"}, from: file}
		}
		for name, test := range tests {
			t.Run(v.Name+" "+name, func(t *testing.T) {
				t.Parallel()
				access, from, err := v.fromEnvironment(test.base, test.values)
				require.NoError(t, err)
				require.Equal(t, test.from, from)
				require.Equal(t, test.want, access)
			})
		}
	}
	config := Config{Vendors: map[string]Access{"openai": {Key: "sk-program"}}}
	read := config
	require.NoError(t, read.read(variableMap{"OPENAI_API_KEY": "sk-own"}, nil))
	require.Equal(t, Access{Key: "sk-own"}, read.Vendors["openai"])
	require.Equal(t, Access{Key: "sk-program"}, config.Vendors["openai"], "the program's own stays as it was")
	require.Zero(t, read.Vendors["anthropic"], "no other vendor gets the key")
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
		for _, api := range v.apis {
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

var update = flag.Bool("update", false, "write the vendors into the documents anew")

// TestDocumentsListEachVendor: what people read, and the stack of docker-compose.yml, have the vendors that there are.
func TestDocumentsListEachVendor(t *testing.T) {
	t.Parallel()
	var models, compose, example strings.Builder
	var keys, servers []string
	others := "none"
	for _, v := range vendors() {
		key, server := v.KeyVariable(), v.BaseURLVariable()
		keys, servers = append(keys, "`"+key+"`"), append(servers, "`"+server+"`")
		fmt.Fprintf(&compose, "      %s:\n      %s:\n", key, server)
		fmt.Fprintf(&example, "#%s=\n#%s=\n", key, server)
		for _, api := range v.apis {
			fmt.Fprintf(&models, "| `%s/NAME` | %s | `%s` |\n", api.Name, api.Title, key)
		}
		if v.OtherKey != "" {
			others += fmt.Sprintf("; for %s `%s`", v.Title, v.OtherKey)
		}
	}
	for _, place := range []struct{ path, before, list, after string }{
		{"docker-compose.yml", "and to no other service.\n", compose.String(), "      EVERSTEP_RATE_LIMITS:\n"},
		{".env.example", "leave the line out instead.\n", example.String(), "\n# What these keys allow"},
		{"starter/help/models.md", "| model | API | key |\n|---|---|---|\n", models.String(), "| `scripted/FILE`"},
		{"starter/help/configuration.md", "## Worker\n\n| flag, variable | default, and what it is |\n|---|---|\n", "| " + strings.Join(keys, ", ") + " | " + others + " |\n", "| the same with `_FILE`"},
		{"starter/help/configuration.md", "so replace it by renaming |\n", "| " + strings.Join(servers, ", ") + " | the vendor's own server |\n", "| `--builtin-tools`"},
	} {
		path := filepath.Join("..", "..", place.path)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		before, rest, began := strings.Cut(string(text), place.before)
		kept, after, ended := strings.Cut(rest, place.after)
		require.True(t, began && ended, "%s: the list of vendors has no place between %q and %q", place.path, place.before, place.after)
		if *update {
			require.NoError(t, os.WriteFile(path, []byte(before+place.before+place.list+place.after+after), 0o600))
			continue
		}
		require.Equal(t, place.list, kept, "%s: write it anew with -update", place.path)
	}
}

// TestEachAdapterHasACase: no package of an API goes untested by what is asked of
// all of them.
func TestEachAdapterHasACase(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("vendor.go")
	require.NoError(t, err)
	_, listed, _ := strings.Cut(string(source), "return append([]wire.API{")
	listed, _, _ = strings.Cut(listed, "\n")
	packages := regexp.MustCompile(`(\w+)\.APIs?\(\)`).FindAllStringSubmatch(listed, -1)
	require.NotEmpty(t, packages)
	for _, found := range packages {
		_, err := os.Stat(filepath.Join("..", "..", "testsuite", "providers", found[1]+"_test.go"))
		require.NoError(t, err, "testsuite/providers has no case for the adapter %s", found[1])
	}
}
