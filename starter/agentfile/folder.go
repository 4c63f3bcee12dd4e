package agentfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"everstep/domain/spelling"
)

// Folders are where agents are looked for by name, in this order.
func Folders() []string { return []string{"agents", filepath.Join(".everstep", "agents")} }

// A Listed is a file that List found, with what is wrong with it.
type Listed struct {
	File     File
	Problems Problems
}

// List loads the agents in the Folders of a folder, sorted by file. A file
// README.md is taken for none.
func List(folder string) ([]Listed, error) {
	var listed []Listed
	for _, inner := range Folders() {
		entries, err := os.ReadDir(filepath.Join(folder, inner))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: cannot be read: %w", filepath.Join(folder, inner), bare(err))
		}
		for _, entry := range entries {
			name := entry.Name()
			if entry.IsDir() || !slices.Contains(endings(), strings.ToLower(filepath.Ext(name))) || strings.EqualFold(name, "readme.md") {
				continue
			}
			f, err := Load(filepath.Join(folder, inner, name))
			problems, _ := errors.AsType[Problems](err)
			listed = append(listed, Listed{f, problems})
		}
	}
	return listed, nil
}

// Find returns the path of an agent's file, which is named by its path or by
// the agent's name; names are looked up in the Folders of a folder.
func Find(folder, text string) (string, error) {
	if IsPath(text) {
		return text, nil
	}
	listed, err := List(folder)
	if err != nil {
		return "", err
	}
	var names, paths []string
	for _, l := range listed {
		names = append(names, l.File.Name)
		if l.File.Name == text {
			paths = append(paths, l.File.Path)
		}
	}
	switch {
	case len(paths) == 1:
		return paths[0], nil
	case len(paths) > 1:
		return "", fmt.Errorf("%s is the name of several: %s; give the file", shorten(text), strings.Join(paths, ", "))
	}
	const where = "in ./agents and ./.everstep/agents"
	if near, ok := spelling.Nearest(text, names); ok {
		return "", fmt.Errorf("there is no agent %q %s; did you mean %s?", shorten(text), where, near)
	}
	if len(names) == 0 {
		return "", fmt.Errorf("there is no agent %q, and none at all %s; give the path of a file", shorten(text), where)
	}
	slices.Sort(names)
	return "", fmt.Errorf("there is no agent %q %s; there are %s", shorten(text), where, strings.Join(slices.Compact(names), ", "))
}
