package host

import (
	"cmp"
	"fmt"
	"net"
	"strings"

	"github.com/spf13/pflag"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"

	"everstep/domain"
)

// An Environment is where variables are read from; envconfig.EnvLookupOS is the
// process's own.
type Environment = envconfig.EnvLookup

// Flags are the values that a command line gave.
type Flags struct{ given map[string]string }

// ConnectionFlags adds the flags that name a server.
func ConnectionFlags(set *pflag.FlagSet) *Flags { return newFlags(set, connectionSettings()) }

// WorkerFlags adds the flags of a worker, those that name a server aside.
func WorkerFlags(set *pflag.FlagSet) *Flags {
	return newFlags(set, append(workerSettings(), modelSettings()...))
}

func newFlags(set *pflag.FlagSet, settings []setting) *Flags {
	flags := &Flags{given: make(map[string]string)}
	for _, s := range settings {
		if s.flag != "" {
			flag := set.VarPF(&flagValue{flags, s}, s.flag, "", fmt.Sprintf("%s (%s)", s.help, s.variable))
			if s.kind == kindBool {
				flag.NoOptDefVal = "true"
			}
		}
	}
	return flags
}

// flagValue keeps what was given; it is read together with the environment.
type flagValue struct {
	flags   *Flags
	setting setting
}

func (v *flagValue) String() string { return "" }
func (v *flagValue) Type() string   { return v.setting.kind }
func (v *flagValue) Set(text string) error {
	v.flags.given[v.setting.flag] = text
	return nil
}

// FromEnvironment completes a configuration: a flag comes before a variable, a
// variable before a profile of Temporal's configuration file, and that before
// what the program has set. Its errors are of kind Invalid and name the flag or
// variable, and what to give instead.
func FromEnvironment(config Config, environment Environment, flags ...*Flags) (Config, error) {
	for _, s := range append(workerSettings(), modelSettings()...) {
		if err := s.apply(&config, environment, flags); err != nil {
			return config, err
		}
	}
	for _, v := range vendors() {
		if _, err := v.fromEnvironment(&config, environment); err != nil {
			return config, err
		}
	}
	connection, err := ConnectionFromEnvironment(config.Connection, environment, flags...)
	config.Connection = connection
	return config, err
}

// ConnectionFromEnvironment is FromEnvironment for processes that run no worker.
func ConnectionFromEnvironment(connection Connection, environment Environment, flags ...*Flags) (Connection, error) {
	var config Config
	for _, s := range connectionSettings() {
		if text, ok := s.given(flags); ok {
			if err := s.read(&config, text); err != nil {
				return connection, s.wrong("--"+s.flag, err)
			}
		}
	}
	profile, err := envconfig.LoadClientConfigProfile(envconfig.LoadClientConfigProfileOptions{
		ConfigFileProfile: config.Connection.Profile,
		EnvLookup:         environment,
	})
	if err != nil {
		return connection, domain.Errorf(domain.Invalid,
			"profile: %s; see --profile, TEMPORAL_PROFILE and TEMPORAL_CONFIG_FILE", err)
	}
	base, err := profile.ToClientOptions(envconfig.ToClientOptionsRequest{})
	if err != nil {
		return connection, domain.Errorf(domain.Invalid, "profile: %s; see the TEMPORAL_TLS variables and the profile's tls table", err)
	}
	return connection.with(config.Connection, base)
}

// with joins what flags said, then profile and variables, then the program.
func (c Connection) with(flags Connection, base client.Options) (Connection, error) {
	c.Address = cmp.Or(flags.Address, base.HostPort, c.Address)
	c.Configured = c.Configured || c.Address != "" || flags.Profile != ""
	c.Profile = cmp.Or(flags.Profile, c.Profile)
	c.Namespace = cmp.Or(flags.Namespace, base.Namespace, c.Namespace)
	c.base = base
	if c.Address == "" {
		return c, nil
	}
	if err := checkAddress(c.Address); err != nil {
		return c, domain.Errorf(domain.Invalid, "address: %s; see --address and TEMPORAL_ADDRESS", err)
	}
	return c, nil
}

// checkAddress accepts host:port, and gRPC's own names of addresses.
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
