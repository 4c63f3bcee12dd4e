package host

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"everstep/activities/inference/wire"
)

// kindBool is the kind of a setting whose flag needs no value.
const kindBool = "bool"

// modelSettings are those that all requests to models share. Base URLs and keys
// are the vendors'.
func modelSettings() []setting {
	return []setting{
		// No flag: it may hold a password.
		{"", "EVERSTEP_PROXY", "url", "the proxy that requests to models go through", func(c *Config, text string) error {
			c.Proxy = Secret(strings.TrimSpace(text))
			_, err := wire.ParseProxy(text)
			return err
		}},
		{"allow-base-url", "EVERSTEP_ALLOW_BASE_URL", kindBool, "let agents name a base_url of their own, which then gets the key", func(c *Config, text string) (err error) {
			c.AllowBaseURL, err = readBool(text)
			return err
		}},
		{"finish-optional", "EVERSTEP_FINISH_OPTIONAL", kindBool, "take answers of openai-chat/… that end without a finish reason, as some proxies send them", func(c *Config, text string) (err error) {
			c.FinishOptional, err = readBool(text)
			return err
		}},
		{"rate-limits", "EVERSTEP_RATE_LIMITS", "limits", "requests and tokens a minute that a vendor's key allows, as in openai=600rpm/200000tpm,anthropic=50rpm; the same for all workers of a task queue", func(c *Config, text string) (err error) {
			c.RateLimits, err = readRateLimits(text)
			return err
		}},
		{"workers", "EVERSTEP_WORKERS", "count", "how many workers share the tokens of --rate-limits; 1 unless given", func(c *Config, text string) (err error) {
			c.Workers, err = readCount(text, 10_000)
			return err
		}},
		{"connect-timeout", "EVERSTEP_CONNECT_TIMEOUT", "duration", "what a model's server has to accept a connection; 10s unless given", func(c *Config, text string) (err error) {
			c.Timeouts.Connect, err = readDuration(text, time.Hour)
			return err
		}},
		{"first-byte-timeout", "EVERSTEP_FIRST_BYTE_TIMEOUT", "duration", "what a model has to begin its answer; 5m unless given", func(c *Config, text string) (err error) {
			c.Timeouts.FirstByte, err = readDuration(text, 24*time.Hour)
			return err
		}},
		{"idle-timeout", "EVERSTEP_IDLE_TIMEOUT", "duration", "how long a model may pause inside an answer; 2m unless given", func(c *Config, text string) (err error) {
			c.Timeouts.Idle, err = readDuration(text, 24*time.Hour)
			return err
		}},
	}
}

func readBool(text string) (bool, error) {
	value, err := strconv.ParseBool(text)
	if err != nil {
		return false, fmt.Errorf("%q is neither true nor false", text)
	}
	return value, nil
}
