package agentfile

import (
	"path/filepath"
	"strings"

	"everstep/domain"
)

// A File is an agent as a file defines it.
type File struct {
	// Path is the file's name as it was given.
	Path string
	// Name is the agent's; the file's name without its ending unless given.
	Name        string
	Description string
	// Definition has no provider and no name of a model where the file names
	// none. What is absent in the file is zero: the worker that resolves the
	// definition sets the defaults.
	Definition domain.Definition
}

// Load reads an agent's file. Its error is of type Problems and holds all that
// is wrong; the File is then what could be read of it, good for showing only.
func Load(path string) (File, error) {
	data, err := read(path)
	if err != nil {
		return File{Path: path, Name: stem(path)}, Problems{{File: path, Message: err.Error()}}
	}
	return Parse(path, data)
}

// Parse is Load for what the file holds. The path says which form it has, and
// from where on the files that it names are found.
func Parse(path string, data []byte) (File, error) {
	r := &reader{file: path, folder: filepath.Dir(path)}
	f := File{Path: path, Name: stem(path)}
	f.Definition.Source = path
	text, ok := r.decoded(data)
	if !ok {
		return f, r.err()
	}
	source := source{text: text}
	if markdown(path) {
		if source, ok = r.frontMatter(text); !ok {
			return f, r.err()
		}
	}
	if root, ok := r.document(source); ok {
		r.definition(root, source, &f)
	}
	return f, r.err()
}

// stem is a file's name without folder and ending.
func stem(path string) string {
	base := filepath.Base(path)
	return strings.TrimSuffix(base, filepath.Ext(base))
}
