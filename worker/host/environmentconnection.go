package host

import (
	"cmp"
	"fmt"
	"net"
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
