package guards_test

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"everstep/domain"
	"everstep/starter/agentfile"
	"everstep/starter/help"
	"everstep/testsuite"
	"everstep/worker/host"
)

// root is the repository's.
var root = filepath.Join("..", "..")

// documents are the texts of this repository that name what is in it.
func documents(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, name := range []string{"README.md", "CONTRIBUTING.md", "CHANGELOG.md"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		all[name] = string(text)
	}
	for _, topic := range help.Topics() {
		all["starter/help/"+topic.Name+".md"] = topic.Text
	}
	return all
}

// sources returns the Go files of the repository whose names a test likes.
func sources(t *testing.T, like func(path string) bool) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && (entry.Name() == "cache" || entry.Name() == ".git") {
			return filepath.SkipDir
		}
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" || !like(path) {
			return err
		}
		text, err := os.ReadFile(path)
		files[path] = string(text)
		return err
	})
	require.NoError(t, err)
	return files
}

// TestReadmeIsReadToTheEnd: what is too much for a newcomer is a topic of help.
func TestReadmeIsReadToTheEnd(t *testing.T) {
	t.Parallel()
	require.LessOrEqual(t, strings.Count(documents(t)["README.md"], "\n"), 200)
}

func isTest(path string) bool { return strings.HasSuffix(path, "_test.go") }

// TestDocumentsNameTestsThatExist: what documents rest on is there.
func TestDocumentsNameTestsThatExist(t *testing.T) {
	t.Parallel()
	declared := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz)\w+)\(`)
	for _, text := range sources(t, isTest) {
		for _, found := range function.FindAllStringSubmatch(text, -1) {
			declared[found[1]] = true
		}
	}
	named := regexp.MustCompile("`((?:Test|Benchmark|Fuzz)\\w+)`")
	for name, text := range documents(t) {
		for _, found := range named.FindAllStringSubmatch(text, -1) {
			require.True(t, declared[found[1]], "%s names %s, which is no test", name, found[1])
		}
	}
}

// TestDocumentsNameFilesThatExist: links, and paths that begin with a folder of
// the repository.
func TestDocumentsNameFilesThatExist(t *testing.T) {
	t.Parallel()
	linked := regexp.MustCompile(`\]\(([^)#:]+)\)`)
	named := regexp.MustCompile("[` ](?:everstep/|\\./)?((?:domain|workflows|activities|worker|starter|testsuite|\\.ci)/[\\w./-]*\\w)")
	for name, text := range documents(t) {
		for _, pattern := range []*regexp.Regexp{linked, named} {
			for _, found := range pattern.FindAllStringSubmatch(text, -1) {
				if found[1] == ".ci/cache" || strings.Contains(found[1], "NAME") {
					continue // the gate makes the one; the other stands for a name
				}
				_, err := os.Stat(filepath.Join(root, found[1]))
				require.NoError(t, err, "%s names %s", name, found[1])
			}
		}
	}
}

// TestTopicsNameWordsThatExist: each variable, key, tool, trigger, reason and so
// on that a page names is a word of the program.
func TestTopicsNameWordsThatExist(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, provider := range host.ProviderNames() { // variables are derived from the vendors' names
		variables := strings.ToUpper(strings.ReplaceAll(provider, "-", "_"))
		known[variables+"_API_KEY"], known[variables+"_BASE_URL"] = true, true
	}
	for _, text := range sources(t, func(string) bool { return true }) {
		var s scanner.Scanner
		s.Init(token.NewFileSet().AddFile("", -1, len(text)), []byte(text), nil, 0)
		for {
			_, kind, literal := s.Scan()
			if kind == token.EOF {
				break
			}
			if kind == token.STRING {
				for _, word := range regexp.MustCompile(`\w+`).FindAllString(literal, -1) {
					known[word] = true
				}
			}
		}
	}
	word := regexp.MustCompile("`(?:guards\\.)?([a-z]+(?:_[a-z]+)+|[A-Z]+(?:_[A-Z]+)+)(?:=[^`]*)?`")
	for name, text := range documents(t) {
		for _, found := range word.FindAllStringSubmatch(text, -1) {
			require.True(t, known[found[1]], "%s names %s, which the program does not", name, found[1])
		}
	}
}

// TestDocumentsNameGoThatExists: each name of a package that users import is
// declared in it.
func TestDocumentsNameGoThatExists(t *testing.T) {
	t.Parallel()
	packages := map[string]string{}
	clause := regexp.MustCompile(`(?m)^package (\w+)$`)
	for path, text := range sources(t, func(path string) bool { return !isTest(path) }) {
		require.Regexp(t, clause, text, path)
		packages[clause.FindStringSubmatch(text)[1]] += text
	}
	named := regexp.MustCompile("`[^`\n]*?\\b(domain|hook|tool|host|client|agentfile|testsuite)\\.([A-Z]\\w*)(?:\\.([A-Z]\\w*))?")
	for name, text := range documents(t) {
		for _, found := range named.FindAllStringSubmatch(text, -1) {
			for _, part := range found[2:] {
				declared := regexp.MustCompile(`(?m)^(?:func (?:\([^)]*\) )?|type |const |var |\t)` + part + `\b`)
				require.True(t, part == "" || declared.MatchString(packages[found[1]]), "%s names %s.%s", name, found[1], part)
			}
		}
	}
}

// TestTheTableOfLawsNamesWhatExists: in the comment of package domain, each law's functions and properties.
func TestTheTableOfLawsNamesWhatExists(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for _, text := range sources(t, func(string) bool { return true }) {
		all.WriteString(text)
	}
	_, table, found := strings.Cut(sources(t, func(path string) bool { return path == filepath.Join(root, "domain", "doc.go") })[filepath.Join(root, "domain", "doc.go")], "//\tlaw ")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n//\n")
	laws := strings.Split(table, "\n//\t")[1:]
	require.Greater(t, len(laws), 10)
	for _, law := range laws {
		columns := regexp.MustCompile(` {2,}`).Split(law, -1)
		require.Len(t, columns, 3, law)
		for _, name := range strings.Split(columns[1]+", "+columns[2], ", ") {
			name = name[strings.LastIndexByte(name, '.')+1:]
			require.Regexp(t, `(?m)^(?:func (?:\([^)]*\) )?|type )`+name+`\b`, all.String(), law)
		}
	}
}

// blocks are the blocks of code in a language, of all topics and the README.
func blocks(t *testing.T, language string) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	for name, text := range documents(t) {
		for _, block := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```").FindAllStringSubmatch(text, -1) {
			found[name] = append(found[name], block[1])
		}
	}
	require.NotEmpty(t, found)
	return found
}

// TestDocumentsShowGoThatBuilds: a piece of Go in a document is, line by line, a
// piece of a file that builds. A whole program is built by .ci/own-worker.
func TestDocumentsShowGoThatBuilds(t *testing.T) {
	t.Parallel()
	trimmed := func(text string) string {
		var b strings.Builder
		for line := range strings.Lines(text) {
			b.WriteString(strings.TrimSpace(line) + "\n")
		}
		return b.String()
	}
	var program strings.Builder
	for _, text := range sources(t, func(string) bool { return true }) {
		program.WriteString(trimmed(text))
	}
	for name, all := range blocks(t, "go") {
		for _, block := range all {
			if !strings.HasPrefix(block, "package main\n") {
				require.True(t, strings.Contains(program.String(), trimmed(block)), "%s: no file has\n%s", name, block)
			}
		}
	}
}

// TestDocumentsShowKeysOfAgents: a piece of an agent's file in a document has keys that there are, also in its model.
func TestDocumentsShowKeysOfAgents(t *testing.T) {
	t.Parallel()
	schema := agentfile.Schema()
	schema.Required = nil // a piece lacks some
	fits, err := schema.Resolve(nil)
	require.NoError(t, err)
	for name, all := range blocks(t, "yaml") {
		for _, block := range all {
			if strings.HasPrefix(block, "turns:") || strings.HasPrefix(block, "mcpServers:") {
				continue
			}
			var agent map[string]any
			require.NoError(t, yaml.Unmarshal([]byte(block), &agent), "%s:\n%s", name, block)
			require.NoError(t, fits.Validate(agent), "%s:\n%s", name, block)
		}
	}
}

// TestDocumentsShowScriptsThatPlay plays the scripts that documents show.
func TestDocumentsShowScriptsThatPlay(t *testing.T) {
	t.Parallel()
	played := 0
	for name, all := range blocks(t, "yaml") {
		for _, script := range all {
			if !strings.HasPrefix(script, "turns:") {
				continue
			}
			played++
			dir := t.TempDir()
			for _, file := range []string{"a", "b", "c"} {
				require.NoError(t, os.WriteFile(filepath.Join(dir, file), nil, 0o600))
			}
			run := testsuite.New(t, testsuite.Config{Script: script, Dir: dir}).Run("go")
			require.Equal(t, domain.StatusCompleted, run.Outcome.Status, "%s: %v", name, run.Error)
			require.Equal(t, "The folder holds 3 entries.", run.Answer)
			require.Len(t, run.Asked, 4, "two attempts failed")
		}
	}
	require.Positive(t, played)
}
