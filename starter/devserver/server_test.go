package devserver

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
)

// openHTTP is a server without a network of its own, whose HTTP API listens where the test knows it: pages find it by
// trying all ports.
func openHTTP(t *testing.T) (*Lease, string) {
	t.Helper()
	cfg := sharedConfig(t)
	free, err := listen(localhost(), 0)
	require.NoError(t, err)
	port := number(free)
	require.NoError(t, free.Close())
	cfg.Binary = executable(t, "temporal", fmt.Sprintf(
		`if [ "$1" = --version ]; then exec '%[1]s' "$@"; fi; exec '%[1]s' "$@" --http-port %[2]d`, cfg.Binary, port))
	return acquire(t, cfg), "http://" + net.JoinHostPort(loopback, strconv.Itoa(port))
}

// startAnything is what a page posts to start a workflow.
const startAnything = `{"workflowType":{"name":"agent.Execute"},"taskQueue":{"name":"everstep"},"requestId":"1"}`

func requireNothingStarted(t *testing.T, server Server) {
	t.Helper()
	listed, err := dial(t, server).ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Namespace: server.Namespace})
	require.NoError(t, err)
	require.Empty(t, listed.GetExecutions())
}

type answer struct {
	status int
	body   string
	header http.Header
}

func ask(t *testing.T, method, url, host string, header map[string]string, body string) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	request.Host = host
	for key, value := range header {
		request.Header.Set(key, value)
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return answer{response.StatusCode, string(text), response.Header}
}

// TestTheHTTPAPIIsShut: a form or a fetch of any page can post text/plain to it
// without being asked first, and would start an agent.
func TestTheHTTPAPIIsShut(t *testing.T) {
	t.Parallel()
	lease, api := openHTTP(t)
	header := map[string]string{"Content-Type": "text/plain", "Origin": "http://evil.test"}
	for _, host := range []string{"", "localhost", "evil.test"} {
		refused := ask(t, http.MethodPost, api+"/api/v1/namespaces/default/workflows/X", host, header, startAnything)
		require.Equal(t, http.StatusForbidden, refused.status, host)
	}
	nexus := api + "/namespaces/default/task-queues/everstep/nexus-services/any/any"
	require.Equal(t, http.StatusNotFound, ask(t, http.MethodPost, nexus, "", header, "{}").status)
	requireNothingStarted(t, lease.Server)
}

// TestTheUIAnswersItsOwnPagesOnly: a page whose name is bound to this machine
// after it was loaded is of the same origin as the UI, and only Host tells.
func TestTheUIAnswersItsOwnPagesOnly(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]func(*testing.T) Config{"a network of its own": realConfig, "the network of the machine": sharedConfig} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requireUIAnswersItsOwnPagesOnly(t, acquire(t, config(t)).Server)
		})
	}
}

func requireUIAnswersItsOwnPagesOnly(t *testing.T, server Server) {
	t.Helper()
	workflows := server.UIURL + "/api/v1/namespaces/default/workflows"
	require.Eventually(t, func() bool {
		return ask(t, http.MethodGet, workflows, "", nil, "").status == http.StatusOK
	}, testPatience, 20*time.Millisecond)

	u, err := url.Parse(server.UIURL)
	require.NoError(t, err)
	rebound := ask(t, http.MethodGet, server.UIURL, "evil.test:"+u.Port(), nil, "")
	require.Equal(t, http.StatusForbidden, rebound.status)
	require.Empty(t, rebound.header.Values("Set-Cookie"), "_csrf opens everything else")
	for name, header := range map[string]map[string]string{
		"another origin":      {"Origin": "http://evil.test"},
		"another port":        {"Origin": "http://127.0.0.1:1"},
		"a script of another": {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
	} {
		require.Equal(t, http.StatusForbidden, ask(t, http.MethodGet, workflows, "", header, "").status, name)
	}

	// It works all the same, for writing too.
	page := ask(t, http.MethodGet, server.UIURL, "localhost:"+u.Port(), nil, "")
	require.Equal(t, http.StatusOK, page.status)
	token, _, _ := strings.Cut(strings.TrimPrefix(page.header.Get("Set-Cookie"), "_csrf="), ";")
	require.NotEmpty(t, token)
	header := map[string]string{
		"Origin": "http://localhost:" + u.Port(), "Content-Type": "application/json", "X-CSRF-Token": token, "Cookie": "_csrf=" + token,
	}
	started := ask(t, http.MethodPost, workflows+"/own%2Fid", "localhost:"+u.Port(), header, startAnything)
	require.Equal(t, http.StatusOK, started.status, started.body)
	_, err = dial(t, server).DescribeWorkflowExecution(t.Context(), "own/id", "")
	require.NoError(t, err, "the path arrives as it was sent")
}

// browse lets a real browser load a page, waits until it is done, and returns
// what the page is then.
func browse(t *testing.T, page string) string {
	t.Helper()
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("NOT TESTED with a browser: no chromium on PATH")
	}
	output, err := exec.CommandContext(t.Context(), chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
		"--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--user-data-dir="+t.TempDir(), "--host-resolver-rules=MAP evil.test 127.0.0.1", "--virtual-time-budget=5000",
		"--dump-dom", page).Output()
	require.NoError(t, err)
	return string(output)
}

func TestABrowserStartsNothing(t *testing.T) {
	t.Parallel()
	lease, api := openHTTP(t)
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<body><script>
			fetch(%q, {method: "POST", mode: "no-cors", headers: {"Content-Type": "text/plain"}, body: %q})
				.then(() => document.body.innerText = "posted", e => document.body.innerText = "failed: " + e)
		</script></body>`, api+"/api/v1/namespaces/default/workflows/X", startAnything)
	}))
	defer evil.Close()
	require.Contains(t, browse(t, strings.Replace(evil.URL, "127.0.0.1", "evil.test", 1)), "posted")
	requireNothingStarted(t, lease.Server)
}

func TestABrowserReadsNothingUnderAnotherName(t *testing.T) {
	t.Parallel()
	server := acquire(t, realConfig(t)).Server
	require.True(t, strings.Contains(browse(t, server.UIURL), "/_app/"), "the UI itself")
	rebound := browse(t, strings.Replace(server.UIURL, "127.0.0.1", "evil.test", 1))
	require.False(t, strings.Contains(rebound, "/_app/"), "the UI under a name of others")
	require.Contains(t, rebound, "evil.test")
}

// TestKnownPorts: only the server of the default state file takes the ports that
// everybody knows; those of others are out of the way of outgoing connections.
func TestKnownPorts(t *testing.T) {
	t.Parallel()
	for range 20 {
		other := choose(t, spec{})
		for _, port := range []int{number(other.server), number(other.ui), other.insideUI.Port} {
			require.GreaterOrEqual(t, port, firstPort)
			require.Less(t, port, lastPort)
		}
		require.NotEqual(t, number(other.server), number(other.ui))
	}
	known := choose(t, spec{Known: true})
	if number(known.server) != preferredPort {
		_, err := listen(localhost(), preferredPort)
		require.Error(t, err, "it is left only where another program has it")
	}
	asked := choose(t, spec{Config: Config{Port: number(known.server)}, Known: true})
	require.Equal(t, number(known.server), number(asked.server))
}

// TestPortsStay: a worker that found a server there finds it again when it is started again. It is not parallel: a
// process that another test starts meanwhile holds every open port until it has become its program.
func TestPortsStay(t *testing.T) {
	state := filepath.Join(t.TempDir(), "dev.db")
	s := spec{Config: Config{StateFile: state}}
	first := choose(t, s)
	keepPorts(state, number(first.server), number(first.ui))
	again := choose(t, s)
	require.Equal(t, []int{number(first.server), number(first.ui)}, []int{number(again.server), number(again.ui)})
	taken, err := listen(localhost(), number(first.server))
	require.NoError(t, err)
	defer taken.Close()
	require.NotEqual(t, number(first.server), number(choose(t, s).server), "another program has it")
	require.NoError(t, os.WriteFile(portsPath(state), []byte("none\n"), 0o600))
	choose(t, s)
}

func choose(t *testing.T, s spec) places {
	t.Helper()
	chosen, err := choosePlaces(s, false)
	require.NoError(t, err)
	require.NoError(t, chosen.ui.Close())
	return chosen
}

// TestHiddenPlaces: nobody finds the UI itself by trying addresses, or meets two
// servers that answer to the same Host.
func TestHiddenPlaces(t *testing.T) {
	t.Parallel()
	one, other := choose(t, spec{}), choose(t, spec{})
	require.NotEqual(t, one.insideUI.String(), other.insideUI.String())
	require.NotEqual(t, one.secret, other.secret)
	require.GreaterOrEqual(t, len(one.secret), 26)
	if runtime.GOOS == "linux" {
		require.NotEqual(t, one.insideUI.IP.String(), other.insideUI.IP.String())
	}
}
