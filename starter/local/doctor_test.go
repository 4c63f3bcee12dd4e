package local

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"everstep/activities/shell"
	"everstep/worker/host"
	"everstep/worker/host/door"
)

// TestDoctorNamesKeys: the line of a provider says where its server is and where
// its key comes from.
func TestDoctorNamesKeys(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(file, []byte("sk-sesame\n"), 0o600))
	m := &Machine{Env: Environment{memory{
		"OPENAI_BASE_URL": "http://127.0.0.1:8000/v1?api-version=1", "ANTHROPIC_API_KEY_FILE": file, "GOOGLE_API_KEY": "sk-sesame",
	}}}
	require.Equal(t, []Check{
		ok("http://127.0.0.1:8000/v1, with no key; it may need none").of("openai"),
		ok("http://127.0.0.1:8000/v1, with no key; it may need none").of("openai-chat"),
		ok("https://api.anthropic.com, with the key in %s (ANTHROPIC_API_KEY_FILE)", file).of("anthropic"),
		ok("https://generativelanguage.googleapis.com/v1beta, with the key in GOOGLE_API_KEY").of("gemini"),
	}, m.checkProviders(Flags{})[:4])
	require.Contains(t, m.checkProviders(Flags{dir: filepath.Dir(file)})[2].Detail, "where file tools would read the key")
	m.Env = Environment{memory{}}
	require.Equal(t, ok("https://generativelanguage.googleapis.com/v1beta, with no key").of("gemini").
		warn("set GEMINI_API_KEY or GEMINI_API_KEY_FILE or GOOGLE_API_KEY on the worker"), m.checkProviders(Flags{})[3])
}

// TestDoctorNamesPrices says which file a worker would read, and what is wrong
// with it.
func TestDoctorNamesPrices(t *testing.T) {
	t.Parallel()
	here, err := os.Getwd()
	require.NoError(t, err)
	m := &Machine{Env: Environment{memory{VariablePrices: "none.yaml"}}}
	got := m.checkPrices()
	require.Len(t, got, 1)
	require.Equal(t, VerdictFail, got[0].Verdict)
	require.Contains(t, got[0].Detail, "EVERSTEP_PRICES: "+filepath.Join(here, "none.yaml")+": cannot be read")

	file := filepath.Join(t.TempDir(), "prices.yaml")
	require.NoError(t, os.WriteFile(file, []byte("models:\n  mine/m: {input: 1.25, output: 10}\n"), 0o600))
	m.Env = Environment{memory{VariablePrices: file}}
	require.Equal(t, []Check{ok("those in %s, and those built in for other models", file)}, m.checkPrices())

	require.NoError(t, os.WriteFile(file, []byte("models:\n  mine/m: {input: cheap, output: 10}\n  mine/n: {inputt: 1}\n"), 0o600))
	wrong := m.checkPrices()
	require.Greater(t, len(wrong), 2, "a line a problem")
	for i, c := range wrong {
		require.Equal(t, VerdictFail, c.Verdict)
		require.Regexp(t, `^EVERSTEP_PRICES: .*prices\.yaml:[23]:[0-9]+: `, c.Detail, i)
		require.NotContains(t, c.Detail, "\n")
	}
}

// TestDoctorNamesCredentialsThatAgentsCouldRead: a worker would refuse to start.
func TestDoctorNamesCredentialsThatAgentsCouldRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "temporal.toml")
	require.NoError(t, os.WriteFile(file, []byte("[profile.default]\naddress = \"far:7233\"\napi_key = \"sesame\"\n"), 0o600))
	m := &Machine{Env: Environment{memory{"TEMPORAL_CONFIG_FILE": file}}, Connection: host.ConnectionFlags(pflag.NewFlagSet("", pflag.ContinueOnError))}
	configuration, connection := m.checkConfiguration()
	require.Equal(t, VerdictOK, configuration.Verdict, configuration.Detail)
	got := m.checkFolder(Flags{dir: dir}, connection)
	require.Equal(t, VerdictFail, got.Verdict, got.Detail)
	require.Contains(t, got.Detail, "TEMPORAL_CONFIG_FILE")
	require.Equal(t, VerdictOK, m.checkFolder(Flags{dir: t.TempDir()}, connection).Verdict)
}

func TestDoctorNamesTools(t *testing.T) {
	t.Parallel()
	m := &Machine{Env: Environment{memory{}}}
	require.Equal(t, ok("those for files; EVERSTEP_BUILTIN_TOOLS turns others on: %s", strings.Join(host.OptionalNames(), ", ")), m.checkBuiltinTools())
	m.Env = Environment{memory{variableBuiltinTools: "http_get"}}
	require.Equal(t, ok("those for files, and http_get"), m.checkBuiltinTools())
	m.Env = Environment{memory{variableBuiltinTools: "http_get,shell"}}
	hold, err := shell.Examine(shell.Config{})
	require.NoError(t, err)
	require.Equal(t, "those for files, and http_get, shell; shell: "+hold.String(), m.checkBuiltinTools().Detail)
	m.Env = Environment{memory{variableBuiltinTools: "http_get,shell", "EVERSTEP_SHELL_NETWORK": "true"}}
	open := m.checkBuiltinTools()
	require.Equal(t, VerdictWarn, open.Verdict)
	require.Contains(t, open.Detail, "an agent can approve its own calls")
	m.Env = Environment{memory{variableBuiltinTools: "http_get", "EVERSTEP_TOOL_LIMITS": "shop__refund=5/m+2,http_get=10/s"}}
	require.Equal(t, "those for files, and http_get; at most http_get: 10 calls a second; shop__refund: 5 calls a minute, 2 at once on each worker", m.checkBuiltinTools().Detail)
	m.Env = Environment{memory{"EVERSTEP_TOOL_LIMITS": "http_get=10"}}
	require.Equal(t, VerdictFail, m.checkBuiltinTools().Verdict)
	m.Env = Environment{memory{variableBuiltinTools: "http_got"}}
	require.Equal(t, VerdictFail, m.checkBuiltinTools().Verdict)
	m.Env = Environment{memory{"EVERSTEP_ALLOW_TOOLS": "lst_files"}}
	require.Equal(t, VerdictFail, m.checkBuiltinTools().Verdict)
	m.Env = Environment{memory{"EVERSTEP_ALLOW_TOOLS": "list_files"}}
	require.Equal(t, ok("list_files, as EVERSTEP_ALLOW_TOOLS says"), m.checkBuiltinTools())
	m.Env = Environment{memory{"EVERSTEP_ALLOW_MODELS": "none", VariableModel: "openai/m"}}
	require.Equal(t, VerdictFail, m.checkModel(t.Context()).Verdict)
}

// TestDoctorKnowsAttributes, and the one of trusted values where some are indexed.
func TestDoctorKnowsAttributes(t *testing.T) {
	t.Parallel()
	const keyword, list = enumspb.INDEXED_VALUE_TYPE_KEYWORD, enumspb.INDEXED_VALUE_TYPE_KEYWORD_LIST
	three := map[string]enumspb.IndexedValueType{"AgentName": keyword, "AgentStatus": keyword, "StopReason": keyword}
	all := maps.Clone(three)
	all["AgentTrusted"] = list
	require.Equal(t, ok("the search attributes are registered; no trusted value is in AgentTrusted, since EVERSTEP_INDEX_TRUSTED names none"), judgeAttributes(three, "n", ""))
	require.Equal(t, ok("the search attributes are registered; of trusted values AgentTrusted has customer,tenant (EVERSTEP_INDEX_TRUSTED)"), judgeAttributes(all, "n", "customer,tenant"))
	require.Equal(t, ok("not registered: AgentTrusted").warn(
		"agents run without them; to have them: temporal operator search-attribute create --namespace n --name AgentTrusted --type KeywordList"), judgeAttributes(three, "n", "customer"))
	all["AgentName"] = list
	require.Equal(t, "not registered: AgentName", judgeAttributes(all, "n", "customer").Detail)
}

func TestDoctorSeesAnOpenUI(t *testing.T) {
	t.Parallel()
	ui := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	open, behind := httptest.NewServer(ui), httptest.NewServer(door.Door{}.Handler(ui))
	t.Cleanup(open.Close)
	t.Cleanup(behind.Close)
	require.False(t, shut(t.Context(), open.URL))
	require.True(t, shut(t.Context(), behind.URL))
}
