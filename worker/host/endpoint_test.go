package host

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

// listening begins a command at an address, and says how it ends.
func listening(t *testing.T, command *cobra.Command, args ...string) (address string, ends func()) {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address = free.Addr().String()
	require.NoError(t, free.Close())
	ctx, cancel := context.WithCancel(t.Context())
	command.SetArgs(append([]string{"--listen", address}, args...))
	ended := make(chan error, 1)
	go func() { ended <- command.ExecuteContext(ctx) }()
	return address, func() {
		cancel()
		require.NoError(t, <-ended)
	}
}

func TestCodecCommandServesUntilItIsTold(t *testing.T) {
	t.Parallel()
	address, ends := listening(t, codecCommand(), "--origin", "http://localhost:8233")

	var response *http.Response
	require.Eventually(t, func() bool {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/decode", strings.NewReader(`{"payloads":[]}`))
		require.NoError(t, err)
		request.Header.Set("Origin", "http://localhost:8233")
		request.Header.Set("Content-Type", "application/json")
		response, err = http.DefaultClient.Do(request)
		return err == nil
	}, time.Minute, 10*time.Millisecond)
	_, err := io.Copy(io.Discard, response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.Equal(t, "http://localhost:8233", response.Header.Get("Access-Control-Allow-Origin"))
	ends()
}

func TestCodecCommandNamesAPortThatIsTaken(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, taken.Close()) })
	command := codecCommand()
	command.SetArgs([]string{"--listen", taken.Addr().String()})
	command.SilenceErrors, command.SilenceUsage = true, true
	require.ErrorContains(t, command.ExecuteContext(t.Context()), "--listen: ")
}

// TestUICommandStandsBeforeTheUI: what is behind it is reached under this
// machine's own names only.
func TestUICommandStandsBeforeTheUI(t *testing.T) {
	t.Parallel()
	inner := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "the UI") }))
	t.Cleanup(inner.Close)
	address, ends := listening(t, uiCommand(), "--target", inner.URL, "--host", "temporal.example")
	ask := func(host string) (*http.Response, error) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address, nil)
		require.NoError(t, err)
		request.Host = host
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			err = response.Body.Close()
		}
		return response, err
	}
	require.Eventually(t, func() bool {
		response, err := ask("")
		return err == nil && response.StatusCode == http.StatusOK
	}, time.Minute, 10*time.Millisecond)
	for host, status := range map[string]int{"localhost:8233": http.StatusOK, "temporal.example": http.StatusOK, "evil.test": http.StatusForbidden} {
		response, err := ask(host)
		require.NoError(t, err)
		require.Equal(t, status, response.StatusCode, host)
	}
	ends()

	wrong := uiCommand()
	wrong.SetArgs([]string{"--target", "8080"})
	wrong.SilenceErrors, wrong.SilenceUsage = true, true
	require.ErrorContains(t, wrong.ExecuteContext(t.Context()), "--target: ")
}
