package host

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

const profiles = `[profile.default]
address = "127.0.0.1:1"
[profile.cloud]
api_key = "api-key-of-the-cloud"
[profile.cloud.grpc_meta]
authorization = "Bearer token-of-a-header"
x-tenant = "everybody-knows-it"
`

// What Temporal's server is shown is hidden as vendors' keys are.
func TestTemporalsCredentialsAreHidden(t *testing.T) {
	t.Parallel()
	dir, other := t.TempDir(), t.TempDir()
	file := written(t, filepath.Join(other, "temporal.toml"), profiles)
	for name, profile := range map[string]string{"the profile's": "cloud", "another's": ""} {
		config := configured(t, Config{Dir: dir}, variableMap{"TEMPORAL_CONFIG_FILE": file, "TEMPORAL_PROFILE": profile})
		require.Equal(t, []string{file}, config.keyFiles(), name)
		config = config.withDefaults()
		said := "api-key-of-the-cloud token-of-a-header everybody-knows-it"
		require.Equal(t, "[hidden] [hidden] everybody-knows-it", config.secrets.hide(said), name)
		require.Equal(t, "[hidden] [hidden] everybody-knows-it", config.secrets.Hide(said), name)
		gathered(t, config)
	}
	config := configured(t, Config{}, variableMap{"TEMPORAL_CONFIG_FILE": filepath.Join(dir, "absent"), "TEMPORAL_API_KEY": "api-key-of-a-variable"})
	require.Empty(t, config.keyFiles())
	require.Equal(t, "[hidden]", config.withDefaults().secrets.hide("api-key-of-a-variable"))
}

func TestTemporalsCredentialsAreNotWhereAgentsRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := written(t, filepath.Join(dir, "temporal.toml"), profiles)
	config := configured(t, Config{Dir: dir}, variableMap{"TEMPORAL_CONFIG_FILE": file})
	_, err := ready(t.Context(), config)
	require.ErrorContains(t, err, "TEMPORAL_CONFIG_FILE: the file is in "+dir)
	require.Equal(t, domain.Invalid, domain.AsError(err).Kind)

	key := credentialFile{clientKeyVariable, written(t, filepath.Join(dir, "client.key"), "k")}
	config = Config{Dir: dir, Connection: Connection{credentials: credentials{files: []credentialFile{key}}}}
	require.Equal(t, []string{key.path}, config.keyFiles())
	_, err = ready(t.Context(), config)
	require.ErrorContains(t, err, "TEMPORAL_TLS_CLIENT_KEY_PATH: the file is in ")

	// One that holds no secret says which server is served.
	written(t, file, strings.Split(profiles, "[profile.cloud]")[0])
	config = configured(t, Config{Dir: dir}, variableMap{"TEMPORAL_CONFIG_FILE": file})
	_, err = ready(t.Context(), config)
	require.ErrorContains(t, err, "TEMPORAL_CONFIG_FILE: the file is in "+dir)
}

// What a worker says last is no more than its log would say.
func TestTheLastErrorSteersNoTerminal(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	link := filepath.Join(t.TempDir(), "\x1b[2J", "api-key-0123456789")
	config := Config{Vendors: map[string]Access{"openai": {Key: "api-key-0123456789"}}, Dir: link}
	require.Equal(t, exitUsage, execute(t.Context(), config, []string{"--address", nobody(t)}, &out))
	require.NotContains(t, out.String(), "\x1b")
	require.NotContains(t, out.String(), "api-key")
	require.Contains(t, out.String(), `\u001b[2J/[hidden]`)
}
