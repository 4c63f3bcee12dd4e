package host

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCodecCommandServesUntilItIsTold(t *testing.T) {
	t.Parallel()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := free.Addr().String()
	require.NoError(t, free.Close())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- serveCodec(ctx, address, []string{"http://localhost:8233"}) }()

	var response *http.Response
	require.Eventually(t, func() bool {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+"/decode", strings.NewReader(`{"payloads":[]}`))
		require.NoError(t, err)
		request.Header.Set("Origin", "http://localhost:8233")
		request.Header.Set("Content-Type", "application/json")
		response, err = http.DefaultClient.Do(request)
		return err == nil
	}, 10*time.Second, 10*time.Millisecond)
	_, err = io.Copy(io.Discard, response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.Equal(t, "http://localhost:8233", response.Header.Get("Access-Control-Allow-Origin"))
	cancel()
	require.NoError(t, <-ended)
}

func TestCodecCommandNamesAPortThatIsTaken(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, taken.Close()) })
	require.ErrorContains(t, serveCodec(t.Context(), taken.Addr().String(), nil), "--listen: ")
}
