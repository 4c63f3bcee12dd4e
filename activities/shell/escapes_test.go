//go:build linux

package shell

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// An escape is a script that tries to get out, to go on or to take too much.
type escape struct {
	script string
	// says is what the answer, or the error, has to hold.
	says string
	// seconds is the call's time-out; zero: none of its own.
	seconds string
	// writes says that only Landlock keeps it in.
	writes bool
}

const (
	ended    = "left running ended with it]"
	notFine  = "[exit "
	longTime = "it took longer than 1s]"
)

// escapes are what scripts try. OUT is a folder outside of the root, LINK one in it that leads there. What would be an
// escape says ESCAPED.
func escapes() map[string]escape {
	return map[string]escape{
		// What it writes.
		"yes":                      {script: "yes", says: "it wrote more than"},
		"yes on the other output":  {script: "yes >&2", says: "it wrote more than"},
		"yes that is left running": {script: "yes & sleep 1000", says: "it wrote more than"},
		"zeros":                    {script: "head -c 100000 /dev/zero", says: "that is no text, not shown"},
		"not UTF-8":                {script: `printf '\377\376'`, says: "[exit 0 "},
		"one long line":            {script: `head -c 10000000 /dev/zero | tr '\0' a`, says: "bytes left out"},
		"a closed output":          {script: "exec >&- 2>&-; exit 4", says: "[exit 4 "},
		"a closed input":           {script: "exec <&-; echo still", says: "still"},
		"input that never comes":   {script: "cat; echo over", says: "over"},
		"input of a terminal":      {script: "cat < /dev/tty || echo none", says: "none"},
		"the outputs opened anew":  {script: "echo again > /proc/self/fd/1", says: "again"},
		// How it ends.
		"a fault":              {script: "kill -SEGV $$", says: "SIGSEGV"},
		"killed by itself":     {script: "kill -9 $$", says: "SIGKILL"},
		"killed as a group":    {script: "kill -9 0", says: "SIGKILL"},
		"all that it may kill": {script: "kill -9 -1; sleep 1", says: "after "},
		"its parent killed":    {script: "kill -9 $PPID; sleep 1; echo went on", says: ""},
		"the first killed":     {script: "kill -9 1; echo went on", says: "went on"},
		"a status beyond all":  {script: "exit 300", says: "[exit 44 "},
		"too long":             {script: "sleep 1000", says: longTime, seconds: "1"},
		"too long and deaf":    {script: "trap '' TERM HUP INT QUIT; sleep 1000; sleep 1000", says: longTime, seconds: "1"},
		"too long and busy":    {script: "while :; do :; done", says: longTime, seconds: "1"},
		"stopped by itself":    {script: "kill -STOP $$", says: longTime, seconds: "1"},
		// What it leaves running.
		"nohup":                      {script: "nohup sleep 1000 > /dev/null 2>&1 &", says: ended},
		"another session":            {script: "setsid sleep 1000 > /dev/null 2>&1 < /dev/null & sleep 0.2", says: ended},
		"forked twice":               {script: "( (sleep 1000 &) & ); sleep 0.2", says: ended},
		"forked twice, each its own": {script: "setsid sh -c 'setsid sleep 1000 & ' & sleep 0.5", says: ended},
		"one that holds the output":  {script: "(sleep 1000; echo ESCAPED) & sleep 0.1", says: ended},
		"one that is stopped":        {script: "sleep 1000 & kill -STOP $!", says: ended},
		"one that is deaf":           {script: "(trap '' TERM HUP INT QUIT; sleep 1000; sleep 1000) & sleep 0.2", says: ended},
		"one that is a zombie's":     {script: "sh -c 'sleep 0 & exec sleep 1000' & sleep 0.2", says: ended},
		"one begun at the end":       {script: "trap 'setsid sleep 1000 & sleep 0.2' EXIT; exit 0", says: ended},
		"one in another folder":      {script: "(cd / && exec sleep 1000) & sleep 0.1", says: ended},
		"one behind a pipe":          {script: "mkfifo p; sleep 1000 > p & sleep 0.1", says: ended},
		"one under another name":     {script: "(exec -a init sleep 1000) 2>/dev/null || sleep 1000 & sleep 0.1", says: ended},
		"one without environment":    {script: "env -i sleep 1000 & sleep 0.2", says: ended},
		"one that listens":           {script: `perl -MIO::Socket -e '$s = IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1"); sleep 1000' & sleep 0.3`, says: ended},
		"two hundred, each its own":  {script: "for i in $(seq 200); do setsid sleep 1000 & done; sleep 0.5", says: ended},
		"doubled eight times":        {script: `perl -e 'fork for 1..8; sleep 1000' & sleep 1`, says: ended},
		"one in a terminal":          {script: "script -qc 'sleep 1000' /dev/null & sleep 0.3; true", says: "[exit 0 "},
		"one in other namespaces":    {script: "unshare -fp sleep 1000 & unshare -U sleep 1000 & sleep 0.3; true", says: "[exit 0 "},
		"one of a timer's":           {script: "echo 'touch OUT/made' | at now; systemd-run --user touch OUT/made; true", says: "[exit 0 "},
		// What it reads of others.
		"environment of its parent": {script: "cat /proc/$PPID/environ | tr '\\0' '\\n'; true", says: "[exit 0 "},
		"environment of the first":  {script: "cat /proc/1/environ | tr '\\0' '\\n'; true", says: "[exit 0 "},
		"environment of all":        {script: "for p in /proc/[0-9]*/environ /proc/[0-9]*/task/[0-9]*/environ; do tr '\\0' '\\n' < $p; done 2>/dev/null; true", says: "[exit 0 "},
		"memory of its parent":      {script: "head -c 1 /proc/$PPID/mem && echo ESCAPED; true", says: "[exit 0 "},
		"files of its parent":       {script: "for f in /proc/$PPID/fd/*; do cat < $f; done 2>/dev/null | head -c 1000; true", says: "[exit 0 ", seconds: "20"},
		"folder of its parent":      {script: "ls /proc/$PPID/cwd/ /proc/$PPID/root/nothing; true", says: "[exit 0 "},
		// Without Landlock it may stop its own shell, until its time is over.
		"a parent traced":             {script: `perl -e 'exit 1 if syscall(101, 16, getppid(), 0, 0) == 0' && echo kept out`, says: "", seconds: "2"},
		"a parent's memory, directly": {script: `perl -e '$b = "\0" x 64; $l = pack("PQ", $b, 64); $r = pack("QQ", 0x400000, 64); exit 1 if syscall(310, getppid(), $l, 1, $r, 1, 0) > 0' && echo kept out`, says: "kept out"},
		// As whom it runs.
		"sudo":                {script: "sudo -n touch OUT/made", says: notFine, writes: true},
		"su":                  {script: "su -c 'touch OUT/made' root", says: notFine, writes: true},
		"a setuid shell":      {script: "cp /bin/sh s && chmod 4755 s && ./s -p -c 'touch OUT/made'", says: notFine, writes: true},
		"rights for others":   {script: "cp /bin/sh s; chmod 4755 s && echo ESCAPED; chmod g+s s && echo ESCAPED; perl -e 'use Fcntl; sysopen(F, \"t\", O_CREAT|O_WRONLY, 06755) && print \"ESCAPED\"'; true", says: "[exit 0 "},
		"another root":        {script: "chroot OUT /bin/true && echo ESCAPED; true", says: "[exit 0 "},
		"a root of its own":   {script: "mkdir bin; cp /bin/busybox bin/ 2>/dev/null; chroot . /bin/busybox true && echo ESCAPED; true", says: "[exit 0 "},
		"a mount":             {script: "mount -t tmpfs x . && echo ESCAPED; true", says: "[exit 0 "},
		"a mount, apart":      {script: "unshare -m mount --bind OUT . && echo x > made; true", says: "[exit 0 "},
		"a mount, as another": {script: "unshare -Urm sh -c 'mount -t tmpfs x OUT && echo ESCAPED'; true", says: "[exit 0 "},
		"a device":            {script: "mknod m c 1 1 && head -c 1 m > /dev/null && echo ESCAPED; mknod b b 8 0 && head -c 1 b > /dev/null && echo ESCAPED; true", says: "[exit 0 "},
		"a name":              {script: "hostname everstep-test-escaped && echo ESCAPED; true", says: "[exit 0 "},
		"a clock":             {script: "date -s '2001-01-01' > /dev/null && echo ESCAPED; true", says: "[exit 0 "},
		"a preloaded library": {script: "LD_PRELOAD=/nonexistent.so true && echo fine", says: "fine"},
		"a path of its own":   {script: "PATH=. ls || echo none", says: "none"},
		"masks and limits":    {script: "umask 000; ulimit -n 3; : > made-inside; ls", says: "[exit "},
		"huge arguments":      {script: `/bin/true "$(head -c 4000000 /dev/zero | tr '\0' a)" || echo refused`, says: "refused"},
		// Where it writes.
		"memory of all":              {script: "echo x > /dev/shm/everstep-test-made", says: "", writes: true},
		"temp of all":                {script: "echo x > /var/tmp/everstep-test-made", says: notFine, writes: true},
		"up":                         {script: "echo x > ../everstep-test-made", says: notFine, writes: true},
		"by its own folder":          {script: "echo x > /proc/self/cwd/../everstep-test-made", says: notFine, writes: true},
		"by its own root":            {script: "echo x > /proc/self/root/OUT/made", says: notFine, writes: true},
		"by an open folder":          {script: "exec 3< OUT; echo x > /proc/self/fd/3/made", says: notFine, writes: true},
		"by a folder it stands in":   {script: "cd OUT && echo x > made", says: notFine, writes: true},
		"by a link":                  {script: "echo x > LINK/made", says: notFine, writes: true},
		"by a link made and swapped": {script: "mkdir d; mv d e; ln -s OUT d; echo x > d/made", says: notFine, writes: true},
		"by a second name":           {script: "ln OUT/beside inside && echo x > inside", says: notFine, writes: true},
		"by an archive":              {script: "mkdir -p a; echo x > a/made; tar -C a -cf - made | tar -C OUT -xf -", says: notFine, writes: true},
		"by an archive's links":      {script: "ln -s OUT to; tar -cf t.tar to; rm to; tar -xf t.tar; cp /etc/hostname to/made", says: notFine, writes: true},
		"by a copy":                  {script: "dd if=/dev/zero of=OUT/made bs=1 count=1; test ! -e OUT/made || exit 0; exit 5", says: "[exit 5 ", writes: true},
		"by rename":                  {script: "echo x > x; mv x OUT/made", says: notFine, writes: true},
		"over what is there":         {script: "echo x >> OUT/beside", says: notFine, writes: true},
		"by an editor in place":      {script: "sed -i s/open/shut/ OUT/beside", says: notFine, writes: true},
		"by a mapped file":           {script: `perl -e 'open F, "+<", "OUT/beside" or exit 5; print F "x"'`, says: "[exit 5 ", writes: true},
		"by taking it away":          {script: "rm -rf OUT; test ! -e OUT/beside", says: notFine, writes: true},
		"by a home":                  {script: "echo x > ~root/everstep-test-made", says: notFine, writes: true},
		"by the system's settings":   {script: "echo 1 > /proc/sys/kernel/printk", says: notFine, writes: true},
		"by a cron's":                {script: "echo '* * * * * touch OUT/made' > /var/spool/cron/root || echo x > /etc/cron.d/everstep-test-made", says: notFine, writes: true},
	}
}

// TestEscapes: each script runs in a worker of its own that has a secret in its environment. Whatever it tries, the worker
// lives and answers, nothing goes on, nothing outside is changed and the secret is not told.
func TestEscapes(t *testing.T) {
	t.Parallel()
	require.GreaterOrEqual(t, len(escapes()), 60)
	self, err := os.Executable()
	require.NoError(t, err)
	for name, test := range escapes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.writes && Landlock() == 0 {
				t.Skip("SKIPPED: this kernel has no Landlock: that commands write in the root alone is not checked")
			}
			dir, outside := seenFolder(t), seenFolder(t)
			beside := filepath.Join(outside, "beside")
			require.NoError(t, os.WriteFile(beside, []byte("open"), 0o600))
			require.NoError(t, os.Symlink(outside, filepath.Join(dir, "link")))
			script := strings.NewReplacer("OUT", outside, "LINK", filepath.Join(dir, "link")).Replace(test.script)
			worker := exec.Command(self, "work", "any", dir, mark(dir, script))
			worker.Env = append(os.Environ(), "EVERSTEP_TEST_SECRET=sesame", "EVERSTEP_TEST_SECONDS="+test.seconds)
			told, err := worker.Output()
			require.NoError(t, err, "the worker lives: %s", told)
			require.Contains(t, string(told), test.says)
			require.NotContains(t, string(told), "sesame")
			require.NotContains(t, string(told), "ESCAPED")
			if test.says == notFine {
				require.NotContains(t, string(told), "[exit 0 ")
			}
			gone(t, dir)
			entries, err := os.ReadDir(outside)
			require.NoError(t, err)
			require.Len(t, entries, 1)
			text, err := os.ReadFile(beside)
			require.NoError(t, err)
			require.Equal(t, "open", string(text))
			for _, where := range []string{"/dev/shm", "/var/tmp", filepath.Dir(dir), "/root", "/etc/cron.d"} {
				require.NoFileExists(t, filepath.Join(where, "everstep-test-made"))
			}
		})
	}
}
