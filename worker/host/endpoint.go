package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"everstep/domain"
	"everstep/worker/host/codec"
	"everstep/worker/host/door"
)

// codecCommand serves the codec to Temporal's UI, where no program of ours that
// could do it runs beside the UI.
func codecCommand() *cobra.Command {
	var listen string
	var who door.Door
	command := &cobra.Command{
		Use:   "codec",
		Short: "Serve the codec, so that Temporal's UI can show what is compressed",
		Long: `Serves Everstep's payload codec over HTTP, for Temporal's UI
(TEMPORAL_CODEC_ENDPOINT) and CLI (--codec-endpoint). It knows no server, agent
or key, but decodes for any program that reaches it, and for pages of the
origins given.`,
		Example: `  worker codec --listen 127.0.0.1:8234 --origin http://localhost:8233`,
		Args:    noArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			compress, err := codec.New()
			if err != nil {
				return err
			}
			return serveHTTP(command.Context(), listen, &http.Server{
				Handler:           compress.Handler(who),
				ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: 30 * time.Second,
			})
		},
	}
	command.Flags().StringVar(&listen, "listen", "127.0.0.1:8234", "`host:port` to listen on")
	command.Flags().StringArrayVar(&who.Origins, "origin", nil, "`URL` of a UI whose pages may use it; once for each")
	command.Flags().StringArrayVar(&who.Hosts, "host", nil, hostHelp)
	return command
}

const hostHelp = "`name` under which it is reached, beside localhost and addresses; once for each"

// uiCommand stands before Temporal's UI, which takes any name for its own.
func uiCommand() *cobra.Command {
	var listen, target string
	var who door.Door
	command := &cobra.Command{
		Use:   "ui",
		Short: "Stand before Temporal's UI, and let only its own pages in",
		Long: `Passes on to Temporal's UI what comes from its own pages, and refuses what comes
from pages of others, also under a name that they bind to this machine. The UI
itself should listen where no browser reaches it. It is no log-in: any program
that reaches it may use it.`,
		Example: `  worker ui --listen 127.0.0.1:8233 --target http://127.0.0.1:8080`,
		Args:    noArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			u, err := url.Parse(target)
			if err != nil || u.Scheme == "" || u.Host == "" {
				return domain.Errorf(domain.Invalid, "--target: %q is no URL; give one such as http://127.0.0.1:8080", target)
			}
			// Without a bound on answers: the UI's pages wait for news in them.
			return serveHTTP(command.Context(), listen, &http.Server{Handler: who.Before(u), ReadHeaderTimeout: 5 * time.Second})
		},
	}
	command.Flags().StringVar(&listen, "listen", "127.0.0.1:8233", "`host:port` to listen on")
	command.Flags().StringVar(&target, "target", "http://127.0.0.1:8080", "`URL` of the UI")
	command.Flags().StringArrayVar(&who.Hosts, "host", nil, hostHelp)
	return command
}

// serveHTTP serves until ctx ends.
func serveHTTP(ctx context.Context, listen string, server *http.Server) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
	if err != nil {
		return domain.Errorf(domain.Invalid, "--listen: cannot listen on %q: %s; give a free host:port", listen, err)
	}
	done := make(chan struct{})
	defer func() { <-done }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		defer close(done)
		<-ctx.Done()
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = server.Shutdown(grace)
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve HTTP: %w", err)
	}
	return nil
}
