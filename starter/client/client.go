package client

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"time"

	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"everstep/domain"
	"everstep/domain/contract"
)

// A Config says where agents run and how soon lost work is noticed. The zero
// value is usable: namespace default, the default task queue, and time-outs for
// a server that is not on this machine.
type Config struct {
	// Namespace is that of the Temporal client. Empty: default.
	Namespace string
	// TaskQueue is of new agents. Empty: contract.DefaultTaskQueue.
	TaskQueue string
	// Loopback, a server on this machine, has time-outs close together.
	Loopback bool
	// Converter reads the payloads of histories; it must be the one that the
	// Temporal client was dialled with. Nil: the SDK's default.
	Converter converter.DataConverter
	// By says who begins executions, as events and the log of workers tell it. Empty:
	// this program and process.
	By domain.Program
	// Progress is told, in words, why something takes long. It may be called
	// from any goroutine. Nil: nobody is told.
	Progress func(string)
}

// A Client speaks to agents. It is safe for concurrent use and holds no
// connection of its own: closing the Temporal client is the caller's.
type Client struct {
	temporal sdk.Client
	cfg      Config
	known    attributes
}

// New returns a client that uses a connected Temporal client.
func New(temporal sdk.Client, cfg Config) *Client {
	return &Client{temporal: temporal, cfg: cfg.withDefaults()}
}

func (cfg Config) withDefaults() Config {
	cfg.Namespace = cmp.Or(cfg.Namespace, "default")
	cfg.TaskQueue = cmp.Or(cfg.TaskQueue, contract.DefaultTaskQueue)
	if cfg.Converter == nil {
		cfg.Converter = converter.GetDefaultDataConverter()
	}
	if cfg.By == (domain.Program{}) {
		machine, _ := os.Hostname() // without one the process has to do
		cfg.By = domain.Program{Client: filepath.Base(os.Args[0]), Identity: fmt.Sprintf("%d@%s", os.Getpid(), machine)}
	}
	if cfg.Progress == nil {
		cfg.Progress = func(string) {}
	}
	return cfg
}

// timing is handed to new agents; task is how long a worker may take over a workflow
// task before another may.
func (cfg Config) timing() (timing contract.Timing, task time.Duration) {
	if cfg.Loopback {
		return contract.Timing{Heartbeat: 3 * time.Second, FirstRetry: 100 * time.Millisecond}, 2 * time.Second
	}
	return contract.Timing{Heartbeat: 30 * time.Second, FirstRetry: time.Second}, 10 * time.Second
}
