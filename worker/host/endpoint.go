package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"everstep/domain"
	"everstep/worker/host/codec"
)

// codecCommand serves the codec to Temporal's UI, where no program of ours that
// could do it runs beside the UI.
func codecCommand() *cobra.Command {
	var listen string
	var origins []string
	command := &cobra.Command{
		Use:   "codec",
		Short: "Serve the codec, so that Temporal's UI can show what is compressed",
		Long: `Serves Everstep's payload codec over HTTP, for Temporal's UI
(TEMPORAL_CODEC_ENDPOINT) and CLI (--codec-endpoint). It knows no server, agent
or key, but decodes for anyone who reaches it.`,
		Example: `  worker codec --listen 127.0.0.1:8234 --origin http://localhost:8233`,
		Args:    noArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			return serveCodec(command.Context(), listen, origins)
		},
	}
	command.Flags().StringVar(&listen, "listen", "127.0.0.1:8234", "`host:port` to listen on")
	command.Flags().StringArrayVar(&origins, "origin", nil, "`URL` of a UI whose pages may use it; once for each")
	return command
}

// serveCodec serves until ctx ends.
func serveCodec(ctx context.Context, listen string, origins []string) error {
	compress, err := codec.New()
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
	if err != nil {
		return domain.Errorf(domain.Invalid, "--listen: cannot listen on %q: %s; give a free host:port", listen, err)
	}
	server := &http.Server{
		Handler:           compress.Handler(origins...),
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: 30 * time.Second,
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
		return fmt.Errorf("serve the codec: %w", err)
	}
	return nil
}
