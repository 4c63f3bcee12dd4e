package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"everstep/starter/devserver"
	"everstep/starter/local"
	"everstep/starter/render"
	"everstep/worker/host/codec"
	"everstep/worker/host/door"
)

func devCommand(p *program) *cobra.Command {
	var f local.Flags
	var cfg devserver.Config
	command := &cobra.Command{
		Use:   "dev",
		Short: "Run the dev server, its UI and a worker",
		Long: `Runs Temporal's own dev server with its UI, and a worker, until it is
interrupted. Their state stays in a file: executions go on where they were when
dev is next started. It is for this machine and this user: it listens on
loopback only, and asks no program who it is. Web pages are let in only from the
UI itself.`,
		Example: `  starter dev
  starter dev --dir ./project --port 7300 --ui-port 8300
  starter dev --state ./agents.db --json`,
		Args: noArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			return p.dev(command.Context(), f, cfg)
		},
	}
	command.Flags().Var(numberFlag{&cfg.Port, 1, 65535}, "port", "the server's; 7233 unless given, any free one where that is taken or the state file is another")
	command.Flags().Var(numberFlag{&cfg.UIPort, 1, 65535}, "ui-port", "the UI's; 8233 unless given, any free one where that is taken")
	f.Register(command.Flags())
	return command
}

func (p *program) dev(ctx context.Context, f local.Flags, cfg devserver.Config) error {
	if len(p.shared) > 0 && !onlyState(p.shared) {
		return usage("address, namespace, profile: dev runs a server of its own; leave them out")
	}
	endpoint, err := listenCodec()
	if err != nil {
		return err
	}
	defer endpoint.Close()
	cfg.CodecEndpoint = endpoint.URL()
	s, err := p.machine.Serve(ctx, f, cfg, logWriter{p})
	if err != nil {
		return err
	}
	defer s.Close()
	server, worker := s.Lease.Server(), s.Spec()
	endpoint.Serve(server.UIURL)
	up := devUp{
		Address: server.Address, Namespace: server.Namespace, UIURL: server.UIURL, TaskQueue: worker.TaskQueue, Dir: worker.Dir,
		StateFile: server.StateFile, Storage: worker.Storage, ServerVersion: server.Version,
	}
	if err := p.announce(up); err != nil {
		return err
	}
	select {
	case err := <-s.Failed():
		return err
	case <-ctx.Done():
		p.say("stopping; executions go on when a worker runs again")
		return nil
	}
}

// devUp is what dev says in JSON when everything is up.
type devUp struct {
	Address       string `json:"address"`
	Namespace     string `json:"namespace"`
	UIURL         string `json:"ui_url"`
	TaskQueue     string `json:"task_queue"`
	Dir           string `json:"dir"`
	StateFile     string `json:"state_file"`
	Storage       string `json:"storage"`
	ServerVersion string `json:"server_version"`
}

func (p *program) announce(up devUp) error {
	if p.flags.json {
		return p.out.JSON(up)
	}
	if p.flags.quiet {
		return nil
	}
	t := p.err.Theme
	p.err.Printf("%s %s\n", t.Good("●"), t.Head("Everstep is up"))
	p.err.Facts(7, [][2]string{
		{"server", up.Address + " (Temporal " + up.ServerVersion + ")"},
		{"ui", up.UIURL},
		{"queue", up.TaskQueue},
		{"folder", up.Dir},
		{"state", up.StateFile},
	})
	if connection, err := p.machine.Configured(); err == nil && connection.Configured {
		p.say("note: %s is configured (%s or a profile), so other commands go there and not here", connection.Address, local.VariableAddress)
	}
	p.err.Printf("  %s\n", t.Faint(`in another terminal: starter run --model PROVIDER/MODEL "…"; Ctrl-C ends this`))
	return nil
}

// logWriter passes on what a worker logs, made safe: tools and models have a
// say in it.
type logWriter struct{ p *program }

func (w logWriter) Write(text []byte) (int, error) {
	if !w.p.flags.quiet {
		w.p.err.Printf("%s", render.Clean(string(text)))
	}
	return len(text), nil
}

// A codecEndpoint decodes payloads for the UI, on loopback.
type codecEndpoint struct {
	listener net.Listener
	server   *http.Server
}

func listenCodec() (*codecEndpoint, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("codec endpoint: %w", err)
	}
	return &codecEndpoint{listener: listener}, nil
}

// URL is where the UI finds it.
func (e *codecEndpoint) URL() string { return "http://" + e.listener.Addr().String() }

// Serve begins to answer pages of the UI.
func (e *codecEndpoint) Serve(uiURL string) {
	decoder, err := codec.New()
	if err != nil {
		return // the UI shows what it can without
	}
	origins := []string{uiURL}
	if u, err := url.Parse(uiURL); err == nil {
		origins = append(origins, "http://localhost:"+u.Port())
	}
	e.server = &http.Server{Handler: decoder.Handler(door.Door{Origins: origins}), ReadHeaderTimeout: 10 * time.Second}
	go func() {
		if err := e.server.Serve(e.listener); !errors.Is(err, http.ErrServerClosed) {
			_ = e.listener.Close() // the UI shows what it can without
		}
	}()
}

// Close ends it.
func (e *codecEndpoint) Close() {
	if e.server != nil {
		_ = e.server.Close()
	}
	_ = e.listener.Close()
}
