package script_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// scripts returns the texts of all scripts by their names.
func scripts(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "*", "*.txtar"))
	require.NoError(t, err)
	texts := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		texts[file] = string(text)
	}
	return texts
}

// said is what a command of the starter writes to standard output.
func said(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command(filepath.Join(kit.bin, "starter"), args...).Output()
	require.NoError(t, err, "%v", args)
	return string(out)
}

// TestEachCommandHasAScript: a command of the starter that no script runs is one that a change may break unseen.
func TestEachCommandHasAScript(t *testing.T) {
	t.Parallel()
	run := map[string]bool{}
	called := regexp.MustCompile(`(?m)^(?:exits \d+ |soon |begins \w+ |terminal \w+ )?starter (.+)$`)
	for _, text := range scripts(t) {
		for _, line := range called.FindAllStringSubmatch(text, -1) {
			words := commandLine(strings.Fields(line[1]))
			for n := 1; n <= min(2, len(words)); n++ {
				run[strings.Join(words[:n], " ")] = true
			}
		}
	}
	listed := regexp.MustCompile(`(?m)^  ([a-z]+) {2,}\S`)
	var commands []string
	for _, command := range listed.FindAllStringSubmatch(commandsOf(said(t, "--help")), -1) {
		help := said(t, command[1], "--help")
		if _, below, has := strings.Cut(help, "Available Commands:"); has {
			for _, sub := range listed.FindAllStringSubmatch(commandsOf(below), -1) {
				commands = append(commands, command[1]+" "+sub[1])
			}
			continue
		}
		commands = append(commands, command[1])
	}
	require.Greater(t, len(commands), 40)
	for _, command := range commands {
		require.True(t, run[command], "no script runs starter %s", command)
	}
}

// commandsOf is the part of a help that lists commands.
func commandsOf(help string) string {
	before, _, _ := strings.Cut(help, "\nFlags:")
	if _, after, has := strings.Cut(before, "Agents:\n"); has {
		return after
	}
	return before
}

// TestEachPromiseHasAScript: each row of `starter help promises` is named by a script, or in not_shown.txt, and the scripts that
// it names exist.
func TestEachPromiseHasAScript(t *testing.T) {
	t.Parallel()
	shown := map[string]string{}
	named := regexp.MustCompile(`(?m)^# Promise: (.+)$`)
	for file, text := range scripts(t) {
		for _, promise := range named.FindAllStringSubmatch(text, -1) {
			shown[promise[1]] = file
		}
	}
	text, err := os.ReadFile(filepath.Join("testdata", "not_shown.txt"))
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if promise, _, is := strings.Cut(line, " | "); is {
			shown[promise] = "not_shown.txt"
		}
	}
	met := map[string]bool{}
	page := said(t, "help", "promises")
	names := regexp.MustCompile("`((?:alone|shared)/\\w+)`").FindAllStringSubmatch(page, -1)
	require.NotEmpty(t, names)
	for _, name := range names {
		require.Contains(t, scripts(t), filepath.Join("testdata", name[1]+".txtar"))
	}
	for line := range strings.Lines(page) {
		cells := strings.SplitN(strings.Trim(line, "| \n"), " | ", 2)
		if len(cells) != 2 || cells[0] == "promise" {
			continue
		}
		by := map[string]bool{}
		for promise, file := range shown {
			if strings.Contains(cells[0], promise) {
				met[promise] = true
				by[file] = true
			}
		}
		require.NotEmpty(t, by, "no script names, nor not_shown.txt: %s", cells[0])
		require.True(t, !by["not_shown.txt"] || len(by) == 1, "named by a script, and in not_shown.txt: %s", cells[0])
	}
	for promise, file := range shown {
		require.True(t, met[promise], "%s: no promise has %q", file, promise)
	}
}
