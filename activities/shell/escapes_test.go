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
	all := map[string]escape{
		// What it writes.
		"yes":                      {script: "yes", says: "it wrote more than"},
		"yes on the other output":  {script: "yes >&2", says: "it wrote more than"},
		"yes that is left running": {script: "yes & sleep 1000", says: "it wrote more than"},
		"zeros":                    {script: "head -c 100000 /dev/zero", says: "that is no text, not shown"},
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
		// What it reads of others.
		"files of its parent": {script: "for f in /proc/$PPID/fd/*; do cat < $f; done 2>/dev/null | head -c 1000; true", says: "[exit 0 ", seconds: "20"},
		// Without Landlock it may stop its own shell, until its time is over.
		"a parent traced":             {script: `perl -e 'exit 1 if syscall(101, 16, getppid(), 0, 0) == 0' && echo kept out`, says: "", seconds: "2"},
		"a parent's memory, directly": {script: `perl -e '$b = "\0" x 64; $l = pack("PQ", $b, 64); $r = pack("QQ", 0x400000, 64); exit 1 if syscall(310, getppid(), $l, 1, $r, 1, 0) > 0' && echo kept out`, says: "kept out"},
		// As whom it runs.
		"a preloaded library": {script: "LD_PRELOAD=/nonexistent.so true && echo fine", says: "fine"},
		"a path of its own":   {script: "PATH=. ls || echo none", says: "none"},
		"masks and limits":    {script: "umask 000; ulimit -n 3; : > made-inside; ls", says: "[exit "},
		"huge arguments":      {script: `/bin/true "$(head -c 4000000 /dev/zero | tr '\0' a)" || echo refused`, says: "refused"},
		"memory of all":       {script: "echo x > /dev/shm/everstep-test-made", says: "", writes: true},
	}
	for name, script := range map[string]string{ // what it leaves running
		"nohup":                      "nohup sleep 1000 > /dev/null 2>&1 &",
		"another session":            "setsid sleep 1000 > /dev/null 2>&1 < /dev/null & sleep 0.2",
		"forked twice":               "( (sleep 1000 &) & ); sleep 0.2",
		"forked twice, each its own": "setsid sh -c 'setsid sleep 1000 & ' & sleep 0.5",
		"one that holds the output":  "(sleep 1000; echo ESCAPED) & sleep 0.1",
		"one that is stopped":        "sleep 1000 & kill -STOP $!",
		"one that is deaf":           "(trap '' TERM HUP INT QUIT; sleep 1000; sleep 1000) & sleep 0.2",
		"one that is a zombie's":     "sh -c 'sleep 0 & exec sleep 1000' & sleep 0.2",
		"one begun at the end":       "trap 'setsid sleep 1000 & sleep 0.2' EXIT; exit 0",
		"one in another folder":      "(cd / && exec sleep 1000) & sleep 0.1",
		"one behind a pipe":          "mkfifo p; sleep 1000 > p & sleep 0.1",
		"one under another name":     "(exec -a init sleep 1000) 2>/dev/null || sleep 1000 & sleep 0.1",
		"one without environment":    "env -i sleep 1000 & sleep 0.2",
		"one that listens":           `perl -MIO::Socket -e '$s = IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1"); sleep 1000' & sleep 0.3`,
		"two hundred, each its own":  "for i in $(seq 200); do setsid sleep 1000 & done; sleep 0.5",
		"doubled eight times":        `perl -e 'fork for 1..8; sleep 1000' & sleep 1`,
	} {
		all[name] = escape{script: script, says: ended}
	}
	for name, script := range map[string]string{ // what it does in vain
		"not UTF-8":                 `printf '\377\376'`,
		"one in a terminal":         "script -qc 'sleep 1000' /dev/null & sleep 0.3; true",
		"one in other namespaces":   "unshare -fp sleep 1000 & unshare -U sleep 1000 & sleep 0.3; true",
		"one of a timer's":          "echo 'touch OUT/made' | at now; systemd-run --user touch OUT/made; true",
		"environment of its parent": "cat /proc/$PPID/environ | tr '\\0' '\\n'; true",
		"environment of the first":  "cat /proc/1/environ | tr '\\0' '\\n'; true",
		"environment of all":        "for p in /proc/[0-9]*/environ /proc/[0-9]*/task/[0-9]*/environ; do tr '\\0' '\\n' < $p; done 2>/dev/null; true",
		"memory of its parent":      "head -c 1 /proc/$PPID/mem && echo ESCAPED; true",
		"folder of its parent":      "ls /proc/$PPID/cwd/ /proc/$PPID/root/nothing; true",
		"rights for others":         "cp /bin/sh s; chmod 4755 s && echo ESCAPED; chmod g+s s && echo ESCAPED; perl -e 'use Fcntl; sysopen(F, \"t\", O_CREAT|O_WRONLY, 06755) && print \"ESCAPED\"'; true",
		"another root":              "chroot OUT /bin/true && echo ESCAPED; true",
		"a root of its own":         "mkdir bin; cp /bin/busybox bin/ 2>/dev/null; chroot . /bin/busybox true && echo ESCAPED; true",
		"a mount":                   "mount -t tmpfs x . && echo ESCAPED; true",
		"a mount, apart":            "unshare -m mount --bind OUT . && echo x > made; true",
		"a mount, as another":       "unshare -Urm sh -c 'mount -t tmpfs x OUT && echo ESCAPED'; true",
		"a device":                  "mknod m c 1 1 && head -c 1 m > /dev/null && echo ESCAPED; mknod b b 8 0 && head -c 1 b > /dev/null && echo ESCAPED; true",
		"a name":                    "hostname everstep-test-escaped && echo ESCAPED; true",
		"a clock":                   "date -s '2001-01-01' > /dev/null && echo ESCAPED; true",
	} {
		all[name] = escape{script: script, says: "[exit 0 "}
	}
	for name, script := range map[string]string{ // where it writes
		"sudo":                       "sudo -n touch OUT/made",
		"su":                         "su -c 'touch OUT/made' root",
		"a setuid shell":             "cp /bin/sh s && chmod 4755 s && ./s -p -c 'touch OUT/made'",
		"temp of all":                "echo x > /var/tmp/everstep-test-made",
		"up":                         "echo x > ../everstep-test-made",
		"by its own folder":          "echo x > /proc/self/cwd/../everstep-test-made",
		"by its own root":            "echo x > /proc/self/root/OUT/made",
		"by an open folder":          "exec 3< OUT; echo x > /proc/self/fd/3/made",
		"by a folder it stands in":   "cd OUT && echo x > made",
		"by a link":                  "echo x > LINK/made",
		"by a link made and swapped": "mkdir d; mv d e; ln -s OUT d; echo x > d/made",
		"by a second name":           "ln OUT/beside inside && echo x > inside",
		"by an archive":              "mkdir -p a; echo x > a/made; tar -C a -cf - made | tar -C OUT -xf -",
		"by an archive's links":      "ln -s OUT to; tar -cf t.tar to; rm to; tar -xf t.tar; cp /etc/hostname to/made",
		"by a copy":                  "dd if=/dev/zero of=OUT/made bs=1 count=1; test ! -e OUT/made || exit 0; exit 5",
		"by rename":                  "echo x > x; mv x OUT/made",
		"over what is there":         "echo x >> OUT/beside",
		"by an editor in place":      "sed -i s/open/shut/ OUT/beside",
		"by a mapped file":           `perl -e 'open F, "+<", "OUT/beside" or exit 5; print F "x"'`,
		"by taking it away":          "rm -rf OUT; test ! -e OUT/beside",
		"by a home":                  "echo x > ~root/everstep-test-made",
		"by the system's settings":   "echo 1 > /proc/sys/kernel/printk",
		"by a cron's":                "echo '* * * * * touch OUT/made' > /var/spool/cron/root || echo x > /etc/cron.d/everstep-test-made",
		"a folder outside":           "mkdir OUT/made",
		"a link outside":             "ln -s x OUT/made",
		"a pipe outside":             "mkfifo OUT/made",
		"renamed in":                 "mv OUT/beside .",
		"a device made by its name":  "echo x > /dev/everstep-test-made",
	} {
		all[name] = escape{script: script, says: notFine, writes: true}
	}
	return all
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
			for _, where := range []string{"/dev", "/dev/shm", "/var/tmp", filepath.Dir(dir), "/root", "/etc/cron.d"} {
				require.NoFileExists(t, filepath.Join(where, "everstep-test-made"))
			}
		})
	}
}
