package agentfile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"everstep/activities/document"
	"everstep/activities/output"
	"everstep/domain/spelling"
)

// MaxSize bounds an agent's file, in bytes.
const MaxSize = 1 << 20

const (
	endings         = ".yaml, .yml, .md, .markdown"
	settingsEndings = ".json, .jsonc"
)

func ends(path, endings string) bool {
	return slices.Contains(strings.Split(endings, ", "), strings.ToLower(filepath.Ext(path)))
}

// IsPath reports whether a text that names an agent is a file's path, by its
// ending or its folder, and not an agent's name.
func IsPath(text string) bool {
	_, _, settings := within(text)
	return settings || strings.ContainsAny(text, `/\`) || ends(text, endings+", .toml, "+settingsEndings)
}

// readAgent returns what the file of an agent holds.
func readAgent(path string) ([]byte, error) {
	if file, _, ok := within(path); ok {
		return read(file, settingsEndings)
	}
	return read(path, endings)
}

// read returns what a file holds whose name ends so. Its errors do not name the file.
func read(path, endings string) ([]byte, error) {
	info, err := os.Stat(path)
	target, _ := os.Readlink(path) // empty: it is no link
	switch {
	case ends(path, ".toml"):
		return nil, errors.New("is TOML, as Codex has its agents; put its instructions into ./agents/NAME.md, below front matter with its model and tools")
	case endings != settingsEndings && ends(path, settingsEndings):
		return nil, errors.New("is JSON, as opencode has its settings; name an agent in it, as in opencode.json#build")
	case !ends(path, endings) && (err != nil || !info.IsDir()):
		return nil, fmt.Errorf("is no agent's file by its name; let it end in %s", endings)
	case errors.Is(err, fs.ErrNotExist) && target != "":
		return nil, fmt.Errorf("is a link to %s, which is not there", target)
	case errors.Is(err, fs.ErrNotExist):
		entries, err := os.ReadDir(filepath.Dir(path))
		if err != nil {
			return nil, errors.New("there is no such file, and no folder " + filepath.Dir(path))
		}
		const list = "; `agents list` shows those " + Where
		return nil, errors.New("there is no such file" + cmp.Or(near(path, entries, endings), list))
	case err != nil:
		return nil, fmt.Errorf("cannot be read: %w", bare(err))
	case info.IsDir():
		return nil, errors.New("is a folder; name a file in it")
	case !info.Mode().IsRegular():
		return nil, errors.New("is not a regular file; copy what it gives to one")
	}
	if target, err := filepath.EvalSymlinks(path); err == nil && !ends(target, endings) {
		return nil, fmt.Errorf("is a link to %s, which is no agent's file by its name; let that end in %s, too", target, endings)
	}
	file, err := os.Open(path)
	var data []byte
	if err == nil {
		defer file.Close()
		data, err = io.ReadAll(io.LimitReader(file, MaxSize+1))
	}
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", bare(err))
	}
	return data, nil
}

// near suggests a file of a folder for one that is not there; empty: there is none like it.
func near(path string, entries []fs.DirEntry, endings string) string {
	folder, base := filepath.Split(path)
	var names []string
	for _, entry := range entries {
		if ends(entry.Name(), endings) {
			names = append(names, entry.Name())
		}
	}
	name, ok := spelling.Nearest(base, names)
	if i := slices.IndexFunc(names, func(name string) bool { return stem(name) == stem(base) }); i >= 0 {
		name, ok = names[i], true
	}
	if !ok {
		return ""
	}
	return "; did you mean " + filepath.Join(folder, name) + "?"
}

// bare is an error less the path, which is told already.
func bare(err error) error { return cmp.Or(errors.Unwrap(err), err) }

// folders are where agents are looked for by name, in this order: ours, then those of other tools.
const folders = "agents .everstep/agents .claude/agents .opencode/agent .opencode/agents .github/agents .github/chatmodes .gemini/agents .cursor/agents .qwen/agents"

// A Listed is a file that List found, with what is wrong with it.
type Listed struct {
	File     File
	Problems document.Problems
}

// List loads the agents in the usual folders of a folder, sorted by file, then those in settings of opencode, in their order; folders of other tools are
// read with those below them. A file README.md is taken for none.
func (s Settings) List(folder string) ([]Listed, error) {
	var listed []Listed
	take := func(f File, err error) {
		problems, _ := errors.AsType[document.Problems](err)
		listed = append(listed, Listed{f, problems})
	}
	for inner := range strings.FieldsSeq(folders) {
		root := filepath.Join(folder, filepath.FromSlash(inner)) + string(filepath.Separator) // so that it may be a link
		own := inner == "agents" || inner == ".everstep/agents"
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			name := filepath.Base(path)
			switch {
			case path == root && errors.Is(err, fs.ErrNotExist):
				return fs.SkipAll
			case err != nil:
				return fmt.Errorf("%s: cannot be read: %w", filepath.Clean(path), bare(err))
			case entry.IsDir() && path != root && own:
				return fs.SkipDir
			case entry.IsDir(), !ends(name, endings), !own && !ends(name, ".md"), strings.EqualFold(name, "readme.md"):
				return nil
			}
			take(s.Load(path))
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	for file := range strings.FieldsSeq("opencode.json opencode.jsonc .opencode/opencode.json .opencode/opencode.jsonc") {
		s.takeSettings(filepath.Join(folder, filepath.FromSlash(file)), take)
	}
	return listed, nil
}

// Where says in which folders List looks, for people.
const Where = "in ./agents, ./.everstep/agents, ./.claude/agents, ./.opencode, ./opencode.json, ./.github, ./.gemini, ./.cursor and ./.qwen"

// Find returns the path of an agent's file, which is named by its path or by
// the agent's name; names are looked up in the usual folders of a folder.
func Find(folder, text string) (string, error) {
	if IsPath(text) {
		return text, nil
	}
	listed, err := Settings{}.List(folder)
	if err != nil {
		return "", err
	}
	var names, paths []string
	for _, l := range listed {
		names = append(names, l.File.Name)
		if l.File.Name == text || l.File.Dialect != "" && l.File.Name == identity(text) {
			paths = append(paths, l.File.Path)
		}
	}
	short := document.Shorten(text)
	near, ok := spelling.Nearest(text, names)
	switch {
	case len(paths) == 1:
		return paths[0], nil
	case len(paths) > 1:
		return "", fmt.Errorf("%s is the name of several: %s; give the file", short, strings.Join(paths, ", "))
	case ok:
		return "", fmt.Errorf("there is no agent %q %s; did you mean %s?", short, Where, near)
	case len(names) == 0:
		return "", fmt.Errorf("there is no agent %q, and none at all %s; give the path of a file", short, Where)
	}
	slices.Sort(names)
	return "", fmt.Errorf("there is no agent %q %s; there are %s", short, Where, strings.Join(slices.Compact(names), ", "))
}

// maxSchemaFile bounds a schema's file in bytes, white space included. What is
// left of it may have output.MaxSchema.
const maxSchemaFile = 4 * output.MaxSchema

// below reads a file in the agent's folder or below: nothing else of the machine gets into a definition, links or not.
func (a *agent) below(path string, most int64, endings string) ([]byte, error) {
	short := document.Shorten(path)
	if !filepath.IsLocal(path) {
		return nil, fmt.Errorf("%s is outside of the agent file's folder; copy it there and give its path from there", short)
	}
	folder, err := os.OpenRoot(a.folder)
	if err != nil {
		return nil, fmt.Errorf("the agent file's folder cannot be read: %w", bare(err))
	}
	defer func() { _ = folder.Close() }() // it was only read
	info, err := folder.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		entries, _ := fs.ReadDir(folder.FS(), filepath.ToSlash(filepath.Dir(path))) // none, where that is no folder
		return nil, fmt.Errorf("there is no file %s in the agent file's folder%s", short, near(path, entries, endings))
	case err != nil:
		return nil, fmt.Errorf("%s cannot be read: %w; a link may not lead out of the agent file's folder", short, bare(err))
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file; name one that is", short)
	case info.Size() > most:
		return nil, fmt.Errorf("%s has more than %d bytes; make it smaller", short, most)
	}
	data, err := folder.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", short, bare(err))
	}
	return data, nil
}

// schemaFile reads a schema's file.
func (a *agent) schemaFile(path string) (json.RawMessage, error) {
	data, err := a.below(path, maxSchemaFile, ".json")
	if err != nil {
		return nil, err
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if err := json.Unmarshal(data, new(json.RawMessage)); err != nil {
		place := document.Shorten(path)
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			before := data[:min(max(int(syntax.Offset)-1, 0), len(data))]
			place += fmt.Sprintf(":%d:%d", bytes.Count(before, []byte("\n"))+1, len(before)-bytes.LastIndexByte(before, '\n'))
		}
		return nil, fmt.Errorf("%s is no JSON: %w", place, err)
	}
	var compact bytes.Buffer
	err = json.Compact(&compact, data)
	return compact.Bytes(), err
}
