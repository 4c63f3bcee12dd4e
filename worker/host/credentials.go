package host

import (
	"regexp"
	"strings"

	"go.temporal.io/sdk/contrib/envconfig"
)

// credentials are what a worker shows to Temporal's server. What agents do never gets at them.
type credentials struct {
	// secrets are for the worker alone to know, where they are not empty; files hold such.
	secrets []string
	files   []credentialFile
}

// A credentialFile is named by a variable of Temporal's, or by a profile.
type credentialFile struct{ variable, path string }

const (
	configVariable    = "TEMPORAL_CONFIG_FILE"
	clientKeyVariable = "TEMPORAL_TLS_CLIENT_KEY_PATH"
)

// credentialsOf are those of a profile, and all that the file holds that it may be from.
func credentialsOf(profile envconfig.ClientConfigProfile, environment Environment) credentials {
	var c credentials
	c.add(profile)
	path, _ := environment.LookupEnv(configVariable)
	if path == "" {
		path = envconfig.DefaultConfigFilePath()
	}
	config, err := envconfig.LoadClientConfig(envconfig.LoadClientConfigOptions{ConfigFilePath: path, EnvLookup: environment})
	if err != nil {
		return c // whoever loads the profile has said so
	}
	for _, other := range config.Profiles {
		c.add(*other)
	}
	if len(config.Profiles) > 0 { // it says which server is served, too
		c.files = append(c.files, credentialFile{configVariable, path})
	}
	return c
}

// secretHeader matches the names of those that hold credentials.
var secretHeader = regexp.MustCompile(`(?i)auth|key|token|secret|password|cookie`)

func (c *credentials) add(profile envconfig.ClientConfigProfile) {
	secrets := []string{profile.APIKey}
	if tls := profile.TLS; tls != nil {
		secrets = append(secrets, string(tls.ClientKeyData))
		if tls.ClientKeyPath != "" {
			c.files = append(c.files, credentialFile{clientKeyVariable, tls.ClientKeyPath})
		}
	}
	if profile.Codec != nil {
		secrets = append(secrets, profile.Codec.Auth)
	}
	for name, value := range profile.GRPCMeta {
		if secretHeader.MatchString(name) {
			_, token, _ := strings.Cut(value, " ") // behind Bearer
			secrets = append(secrets, value, token)
		}
	}
	c.secrets = append(c.secrets, secrets...)
}

// Outside makes sure that no file that says which server is served, or holds what that is shown, is below a
// folder, where file tools would read and change it. Its error names the variable.
func (c Connection) Outside(dir string) error {
	for _, file := range c.credentials.files {
		if err := outside(file.variable, file.path, dir, "read and change what it holds for Temporal's server"); err != nil {
			return err
		}
	}
	return nil
}
