//go:build linux

package shell

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestProgramsWork: what agents use most works without a network.
func TestProgramsWork(t *testing.T) {
	t.Parallel()
	// Modes, owners and times change nowhere without namespaces, and no socket is made.
	programs := map[string]struct {
		needs, script string
		contained     bool
		// long says that it builds all anew, the standard library too.
		long bool
	}{
		"git": {needs: "git", contained: true, script: `git init -q repo && cd repo && echo a > a && git add a &&
			git -c user.name=a -c user.email=a@example.com commit -qm first && cd .. && git clone -q repo copy && cat copy/a`},
		"go": {needs: "go", long: true, script: `echo 'module m' > go.mod && printf 'package main\nfunc main() { println("built") }' > m.go &&
			GOPROXY=off GOTOOLCHAIN=local go build -o m . && ./m`},
		"python": {needs: "python3", script: `python3 -c '
import asyncio, subprocess, tempfile, threading, multiprocessing, os
async def main():
    p = await asyncio.create_subprocess_exec("true")
    assert await p.wait() == 0
asyncio.run(main())
threading.Thread(target=print).start()
with tempfile.TemporaryDirectory() as d: open(os.path.join(d, "x"), "w").write("x")
assert subprocess.run(["true"]).returncode == 0'`},
		"python's servers and pools": {needs: "python3", contained: true, script: `python3 -c '
import http.server, threading, urllib.request, multiprocessing
s = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=s.serve_forever, daemon=True).start()
assert urllib.request.urlopen("http://127.0.0.1:%d/" % s.server_port).status == 200
with multiprocessing.get_context("fork").Pool(2) as p: assert p.map(abs, [-1, -2]) == [1, 2]'`},
		"node": {needs: "node", script: `node -e '
const { spawnSync, fork } = require("child_process"), { Worker } = require("worker_threads"), fs = require("fs")
if (spawnSync("true").status !== 0) process.exit(2)
fs.writeFileSync("child.js", "process.on(\"message\", m => { process.send(m + 1); process.exit() })")
const c = fork("./child.js"); c.on("message", m => { if (m !== 2) process.exit(3) }); c.send(1)
new Worker("0", { eval: true })'`},
		"node's servers": {needs: "node", contained: true, script: `node -e '
const http = require("http"), s = http.createServer((q, r) => r.end("x")).listen(0, "127.0.0.1", () =>
  http.get({ port: s.address().port, host: "127.0.0.1" }, r => process.exit(r.statusCode === 200 ? 0 : 4)).on("error", e => { console.log(e); process.exit(5) }))'`},
		"a compiler":      {needs: "gcc", contained: true, script: `printf 'int main() { return 0; }' > c.c && gcc -o c c.c && ./c`},
		"archives":        {needs: "tar", contained: true, script: `mkdir d && touch -d 2001-01-01 d/x && chmod 750 d/x && tar cf d.tar d && rm -r d && tar xpf d.tar && cp -a d e && test "$(stat -c %a e/x)" = 750`},
		"a tracer":        {needs: "strace", contained: true, script: `strace -o log true && grep -q exit_group log`},
		"temporary files": {needs: "mktemp", script: `f=$(mktemp) && echo x > $f && test -w "$TMPDIR" && test -w ~ && mktemp -d`},
		"devices":         {needs: "head", script: `echo x > /dev/null && head -c 8 /dev/urandom | wc -c && cat < /dev/null && echo x > /dev/stderr && echo a | cat /dev/stdin`},
	}
	for mode, s := range modes(t, Config{}) {
		for name, one := range programs {
			t.Run(mode+" "+name, func(t *testing.T) {
				t.Parallel()
				if one.contained && s.namespace == none {
					t.Skip("SKIPPED: it is not promised without namespaces")
				}
				if one.long && testing.Short() {
					t.Skip("SKIPPED: it is long")
				}
				if _, err := exec.LookPath(one.needs); err != nil {
					t.Skip("SKIPPED: there is no " + one.needs + " here")
				}
				text, err := call(t.Context(), s, fields{"script": "cd $(mktemp -d ./XXXXXX) && " + one.script, "timeout_seconds": 600})
				require.NoError(t, err)
				require.Contains(t, text, "[exit 0 ")
			})
		}
	}
}
