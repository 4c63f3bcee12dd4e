package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"everstep/activities/build"
	"everstep/starter/devserver"
	"everstep/starter/local"
	"everstep/starter/render"
	"everstep/worker/host"
	"everstep/worker/host/codec"
	"everstep/worker/host/door"
)

func devCommand(p *program) *cobra.Command {
	var f local.Flags
	var cfg devserver.Config
	command := newCommand("dev", "Run the dev server, its UI and a worker", `Runs Temporal's own dev server with its UI, and a worker, until it is
interrupted. Their state stays in a file: executions go on where they were when
dev is next started. It is for this machine and this user: it listens on
loopback only, and takes programs of this user and of root alone, where the
system can tell (doctor says so). Web pages are let in only from the UI itself.
It names the open agents that another build has begun.`, `  starter dev
  starter dev --dir ./project --port 7300 --ui-port 8300
  starter dev --state ./agents.db --json`, func(ctx context.Context, _ []string) error {
		if err := p.withoutServer("dev runs a server of its own"); err != nil {
			return err
		}
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return fmt.Errorf("codec endpoint: %w", err)
		}
		if peers, err := door.OpenPeers(); err == nil { // else the dev server is shared too, of which doctor tells
			defer func() { _ = peers.Close() }() // it was only asked
			listener = peers.Own(listener, func(line string) { p.say("%s", line) })
		}
		defer func() { _ = listener.Close() }() // serveCodec has closed it, if it got there
		cfg.CodecEndpoint = "http://" + listener.Addr().String()
		s, err := p.machine.Serve(ctx, f, cfg, logWriter{p})
		if err != nil {
			return err
		}
		defer s.Close()
		server := s.Lease.Server
		worker, folder := s.Spec()
		defer serveCodec(listener, server.UIURL)()
		up := devUp{
			Address: server.Address, Namespace: server.Namespace, UIURL: server.UIURL, TaskQueue: worker.TaskQueue, Dir: folder,
			StateFile: server.StateFile, Storage: worker.Storage, ServerVersion: server.Version, Build: build.ID(),
		}
		if err := p.announce(up); err != nil {
			return err
		}
		p.warn(s.OtherBuilds(ctx))
		select {
		case err := <-s.Failed():
			return err
		case <-ctx.Done():
			p.say("stopping; executions go on when a worker runs again")
			return nil
		}
	})
	command.Flags().Var(numberFlag(&cfg.Port, 1, 65535), "port", "the server's; 7233 unless given, or what another state file had last; any free one where that is taken")
	command.Flags().Var(numberFlag(&cfg.UIPort, 1, 65535), "ui-port", "the UI's; 8233 unless given, any free one where that is taken")
	f.Register(command.Flags())
	return command
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
	Build         string `json:"build"`
}

func (p *program) announce(up devUp) error {
	switch {
	case p.flags.json:
		return p.out.JSON(up)
	case p.flags.quiet:
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
	p.err.Print("  " + t.Faint("in another terminal: "+p.again("run", "--model", "PROVIDER/MODEL", `"…"`)+"; Ctrl-C ends this") + "\n")
	return nil
}

// serveCodec decodes payloads for the UI, which shows what it can without.
func serveCodec(listener net.Listener, uiURL string) (stop func()) {
	origins := []string{uiURL}
	if u, err := url.Parse(uiURL); err == nil {
		origins = append(origins, "http://localhost:"+u.Port())
	}
	server := &http.Server{Handler: codec.New().Handler(door.Door{Origins: origins}), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }() // ends with Close, which closes the listener
	return func() { _ = server.Close() }
}

// logWriter makes safe what a worker logs: tools and models have a say in it.
type logWriter struct{ p *program }

func (w logWriter) Write(text []byte) (int, error) {
	if !w.p.flags.quiet {
		w.p.err.Printf("%s", render.Clean(string(text)))
	}
	return len(text), nil
}

// workerCommandOf is the worker that other commands start, as the same program
// again. Whoever runs workers of their own takes everstep/worker.
func workerCommandOf(p *program) *cobra.Command {
	command := host.Command(host.Config{Dir: "."})
	command.Use, command.Hidden = local.WorkerCommand, true
	serve := command.RunE
	bound := command.Flags().Bool(local.FlagUntilStdinEnds, false, "stop when standard input ends")
	command.RunE = func(command *cobra.Command, args []string) error {
		ctx, cancel := context.WithCancel(command.Context())
		defer cancel()
		if *bound {
			go func() {
				_, _ = io.Copy(io.Discard, p.in) // nothing is sent: it returns when the other side is gone
				cancel()
			}()
		}
		command.SetContext(ctx)
		return serve(command, args)
	}
	return command
}

func doctorCommand(p *program) *cobra.Command {
	var f local.Flags
	command := newCommand("doctor", "Say what is reachable, configured and missing", `Looks at the configuration, the server, its search attributes, the workers, the
storage, the models' prices, and each provider's base URL and key, and says what
to do about what is missing. It starts, writes and downloads nothing, asks no
provider, and shows no key. It counts the open agents of the task queue that none
of its workers, or without a worker not this program, has begun: another build
need not be able to go on with them. Exits 1 where something is broken, 5 where the
configured server is not there.`, `  starter doctor
  starter doctor --address temporal.example.com:7233
  starter doctor --json | jq '.[] | select(.verdict != "ok")'`, func(ctx context.Context, _ []string) error {
		checks := p.machine.Examine(ctx, f, version())
		t, worst := p.out.Theme, exitDone
		var text strings.Builder
		for _, c := range checks {
			paint := map[local.Verdict]func(...string) string{local.VerdictOK: t.Good, local.VerdictWarn: t.Warn, local.VerdictFail: t.Bad}[c.Verdict]
			fmt.Fprintf(&text, "%s  %s %s\n", paint(fmt.Sprintf("%-4s", c.Verdict)), t.Head(fmt.Sprintf("%-14s", c.Name)), render.OneLine(c.Detail))
			if c.Fix != "" {
				fmt.Fprintf(&text, "%s%s\n", strings.Repeat(" ", 21), t.Faint("→ "+render.OneLine(c.Fix)))
			}
			switch {
			case c.Verdict != local.VerdictFail:
			case c.Unreachable:
				worst = exitUnreachable
			default:
				worst = max(worst, exitOther)
			}
		}
		if err := p.show(checks, text.String()); err != nil || worst == exitDone {
			return err
		}
		return &exitError{code: worst}
	})
	f.Register(command.Flags())
	return command
}
