package whole_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"everstep/activities/warden"
)

// serverCPU is the processor time of the server's process.
func (s *stack) serverCPU(t testing.TB) time.Duration {
	t.Helper()
	pid := servers.server(t, "beside", nil).PID
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	require.NoError(t, err)
	// After the name in brackets: state, ..., user time is the 14th field, system
	// time the 15th, in hundredths of a second.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	var ticks int64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		require.NoError(t, err)
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

var requestCount = regexp.MustCompile(`^service_requests\{.*operation="(\w+)".*service_name="(\w+)".*\} (\S+)$`)

// metricsInterval is how often the server brings its counts up to date.
const metricsInterval = 1100 * time.Millisecond

// serverRequests counts the server's requests by service and operation. It reads
// the server's own metrics, at whichever of its ports has them, in the server's network:
// the dev server says its port to nobody.
func (s *stack) serverRequests(t testing.TB) map[string]float64 {
	t.Helper()
	time.Sleep(metricsInterval)
	pid := servers.server(t, "beside", nil).PID
	for _, port := range listening(t, pid) {
		client := http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true, DialContext: inNetworkOf(pid)}}
		response, err := client.Get(fmt.Sprintf("http://127.0.0.1:%d/metrics", port))
		if err != nil {
			continue
		}
		counts := map[string]float64{}
		lines := bufio.NewScanner(io.LimitReader(response.Body, 64<<20))
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if m := requestCount.FindStringSubmatch(lines.Text()); m != nil {
				n, err := strconv.ParseFloat(m[3], 64)
				require.NoError(t, err)
				counts[m[2]+"/"+m[1]] += n
			}
		}
		require.NoError(t, response.Body.Close())
		if len(counts) > 0 {
			return counts
		}
	}
	t.Fatal("no port of the server has metrics")
	return nil
}

// inNetworkOf dials in the network of a process. Where that is not this one's, it takes root.
func inNetworkOf(pid int) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (conn net.Conn, err error) {
		warden.OnThrowawayThread(func() {
			var namespace *os.File
			if namespace, err = os.Open(fmt.Sprintf("/proc/%d/ns/net", pid)); err != nil {
				return
			}
			defer namespace.Close()
			if err = unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET); err == nil {
				conn, err = new(net.Dialer).DialContext(ctx, network, address)
			}
		})
		return conn, err
	}
}

// listening are the TCP ports that a process listens on.
func listening(t testing.TB, pid int) (ports []uint64) {
	t.Helper()
	inodes := map[string]bool{}
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	require.NoError(t, err)
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil {
			inodes[strings.TrimSuffix(strings.TrimPrefix(target, "socket:["), "]")] = true
		}
	}
	for _, table := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table))
		require.NoError(t, err)
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line)
			if len(f) < 10 || f[3] != "0A" || !inodes[f[9]] {
				continue
			}
			_, hex, _ := strings.Cut(f[1], ":")
			port, err := strconv.ParseUint(hex, 16, 16)
			require.NoError(t, err)
			ports = append(ports, port)
		}
	}
	return ports
}
