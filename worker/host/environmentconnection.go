package host

import (
	"cmp"
	"fmt"
	"net"
	"regexp"
	"strings"

	"go.temporal.io/sdk/contrib/envconfig"
)

func (c *Config) connectionSettings() []setting {
	return []setting{
		{"address", "TEMPORAL_ADDRESS", "host:port", "the Temporal server", into(&c.Connection.Address, checked(checkAddress))},
		{"namespace", "TEMPORAL_NAMESPACE", "name", "the Temporal namespace", into(&c.Connection.Namespace, checked(CheckName))},
		{"profile", "TEMPORAL_PROFILE", "name", "a profile of Temporal's configuration file", into(&c.Connection.Profile, checked(CheckName))},
	}
}

// ConnectionFromEnvironment is FromEnvironment for processes that run no worker.
func ConnectionFromEnvironment(connection Connection, environment Environment, flags ...*Flags) (Connection, error) {
	var config Config
	if err := apply(config.connectionSettings(), nil, flags); err != nil {
		return connection, err
	}
	// What flags said comes before variables and the profile, and these before the program.
	flag := config.Connection
	named, _ := environment.LookupEnv("TEMPORAL_PROFILE")
	connection.Profile = cmp.Or(flag.Profile, named, connection.Profile)
	profile, err := envconfig.LoadClientConfigProfile(envconfig.LoadClientConfigProfileOptions{ConfigFileProfile: connection.Profile, EnvLookup: environment})
	if err != nil {
		return connection, invalid("profile: %s; see --profile, TEMPORAL_PROFILE and TEMPORAL_CONFIG_FILE", err)
	}
	base, err := profile.ToClientOptions(envconfig.ToClientOptionsRequest{})
	if err != nil {
		return connection, invalid("profile: %s; see the TEMPORAL_TLS variables and the profile's tls table", err)
	}
	connection.credentials = credentialsOf(profile, environment)
	connection.Address = cmp.Or(flag.Address, base.HostPort, connection.Address)
	connection.Configured = connection.Configured || connection.Address != "" || flag.Profile != ""
	connection.Namespace = cmp.Or(flag.Namespace, base.Namespace, connection.Namespace)
	connection.base = base
	if err := checkAddress(connection.Address); connection.Address != "" && err != nil {
		return connection, invalid("address: %s; see --address and TEMPORAL_ADDRESS", err)
	}
	return connection, nil
}

func checkAddress(address string) error {
	_, port, err := net.SplitHostPort(address)
	switch {
	case strings.Contains(address, ":///"):
		return nil
	case strings.Contains(address, "://"):
		return fmt.Errorf("%q is a URL; give host:port, as in 127.0.0.1:7233", address)
	case err != nil || port == "":
		return fmt.Errorf("%q is not host:port, as in 127.0.0.1:7233", address)
	}
	return nil
}

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
