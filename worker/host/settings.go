package host

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"

	"everstep/activities/modelfacts"
	"everstep/domain"
)

// A setting is one value that a flag or a variable gives. The table below is
// all that there is.
type setting struct {
	// flag is empty for secrets: they are never arguments.
	flag, variable, kind, help string
	read                       func(c *Config, text string) error
}

func connectionSettings() []setting {
	return []setting{
		{"address", "TEMPORAL_ADDRESS", "host:port", "the Temporal server", func(c *Config, text string) error {
			c.Connection.Address = text
			return checkAddress(text)
		}},
		{"namespace", "TEMPORAL_NAMESPACE", "name", "the Temporal namespace", func(c *Config, text string) error {
			c.Connection.Namespace = text
			return CheckName(text)
		}},
		{"profile", "TEMPORAL_PROFILE", "name", "a profile of Temporal's configuration file", func(c *Config, text string) error {
			c.Connection.Profile = text
			return CheckName(text)
		}},
	}
}

func workerSettings() []setting {
	return []setting{
		{"task-queue", "EVERSTEP_TASK_QUEUE", "name", "where the worker listens", func(c *Config, text string) error {
			c.TaskQueue = text
			return CheckName(text)
		}},
		{"dir", "EVERSTEP_DIR", "directory", "the root that file tools never leave; the current directory unless given", func(c *Config, text string) error {
			c.Dir = text
			return checkDirectory(text)
		}},
		{"storage", "EVERSTEP_STORAGE", "directory|url", "where parts of long conversations go; the same for all workers of a task queue", func(c *Config, text string) error {
			c.Storage = text
			return checkStorage(text)
		}},
		{"prices", "EVERSTEP_PRICES", "file", "prices and windows of models, in dollars for a million tokens; they come before those built in", func(c *Config, text string) error {
			c.Prices = text
			_, err := modelfacts.Table{}.With(text)
			return err
		}},
		{"log-level", "EVERSTEP_LOG_LEVEL", "level", "debug, info, warn or error", func(c *Config, text string) error {
			return c.Log.Level.UnmarshalText([]byte(text))
		}},
		{"log-format", "EVERSTEP_LOG_FORMAT", "format", "console or json", func(c *Config, text string) error {
			return c.Log.Format.UnmarshalText([]byte(text))
		}},
		{"max-activities", "EVERSTEP_MAX_ACTIVITIES", "count", "inferences and tool calls at one time", func(c *Config, text string) (err error) {
			c.MaxActivities, err = readCount(text, 10_000)
			return err
		}},
		{"cache-size", "EVERSTEP_CACHE_SIZE", "size", "memory for conversations, as in 256MiB", func(c *Config, text string) (err error) {
			c.CacheBytes, err = readSize(text)
			return err
		}},
		{"stop-timeout", "EVERSTEP_STOP_TIMEOUT", "duration", "what work in progress has to finish when the worker stops, as in 10s", func(c *Config, text string) (err error) {
			c.StopTimeout, err = readDuration(text, time.Hour)
			return err
		}},
	}
}

// apply reads the setting from the flags, else from the environment. An empty
// variable counts as none.
func (s setting) apply(c *Config, environment Environment, flags []*Flags) error {
	if text, ok := s.given(flags); ok {
		return s.wrong("--"+s.flag, s.read(c, text))
	}
	if text, ok := environment.LookupEnv(s.variable); ok && text != "" {
		return s.wrong(s.variable, s.read(c, text))
	}
	return nil
}

func (s setting) given(flags []*Flags) (string, bool) {
	for _, f := range flags {
		if text, ok := f.given[s.flag]; ok {
			return text, true
		}
	}
	return "", false
}

func (s setting) wrong(name string, err error) error {
	if err == nil {
		return nil
	}
	return domain.Errorf(domain.Invalid, "%s: %s", name, err)
}

// CheckName says what is wrong with the name of a task queue, a namespace or a
// profile.
func CheckName(text string) error {
	control := func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }
	switch {
	case text == "":
		return errors.New("is empty; give a name")
	case len(text) > 255:
		return fmt.Errorf("has %d bytes; at most 255 are allowed", len(text))
	case strings.ContainsFunc(text, control):
		return fmt.Errorf("%q has spaces or control characters; leave them out", text)
	}
	return nil
}

func checkDirectory(path string) error {
	info, err := os.Stat(path)
	switch {
	case path == "":
		return errors.New("is empty; give a directory")
	case err != nil:
		return fmt.Errorf("%q cannot be used: %w; give a directory that exists", path, errors.Unwrap(err))
	case !info.IsDir():
		return fmt.Errorf("%q is no directory; give one", path)
	}
	return nil
}

func readCount(text string, most int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, fmt.Errorf("%q is no whole number from 1 to %d", text, most)
	}
	return n, nil
}

func readDuration(text string, most time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 || d > most {
		return 0, fmt.Errorf("%q is no duration above 0 and up to %s, as in 10s", text, most)
	}
	return d, nil
}

// readSize reads a number of bytes, in decimal or binary units.
func readSize(text string) (int64, error) {
	units := []struct {
		suffix string
		bytes  int64
	}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1}, {"", 1}}
	for _, unit := range units {
		number, ok := strings.CutSuffix(text, unit.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
		if err == nil && n > 0 && n <= math.MaxInt64/unit.bytes {
			return n * unit.bytes, nil
		}
		break
	}
	return 0, fmt.Errorf("%q is no size above 0, as in 256MiB", text)
}
