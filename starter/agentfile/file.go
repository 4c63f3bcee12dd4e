package agentfile

import (
	"path/filepath"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"everstep/activities/document"
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

// Load reads an agent's file. Its error is of type document.Problems and holds
// all that is wrong; the File is then what could be read of it, good for showing
// only.
func Load(path string) (File, error) {
	data, err := read(path)
	if err != nil {
		return File{Path: path, Name: stem(path)}, document.Problems{{File: path, Message: err.Error()}}
	}
	return Parse(path, data)
}

// Parse is Load for what the file holds. The path says which form it has, and
// from where on the files that it names are found.
func Parse(path string, data []byte) (File, error) {
	a := &agent{folder: filepath.Dir(path), Reader: document.Reader{File: path, Form: document.Form{
		MaxSize: MaxSize, Needs: "give it at least `model: PROVIDER/NAME`",
		Second: "keep one agent in a file, and put a system prompt below front matter into a file that ends in .md",
	}}}
	a.Path, a.Name, a.Definition.Source = path, stem(path), path
	if text, ok := a.Text(data); ok {
		a.read(text)
	}
	return a.File, a.Err()
}

// Schema is the JSON Schema of an agent's file in YAML, for editors. A file
// that fits it may still have problems that only Load finds.
func Schema() *jsonschema.Schema {
	s := new(agent).keys().Schema()
	s.Schema, s.Title = "https://json-schema.org/draft/2020-12/schema", "Everstep agent"
	s.Description = "An agent in a file: YAML, or the front matter of Markdown, where the text below is the system prompt."
	return s
}

const fence = "---"

// frontMatter parts a Markdown file into the YAML, and what is below, which
// begins at a line of the file.
func (a *agent) frontMatter(text string) (front, body string, bodyLine int, ok bool) {
	lines := strings.Split(text, "\n")
	if strings.TrimRight(lines[0], " \t") != fence {
		a.ProblemAt(1, 1, "", "has no front matter; let the first line be %s, then keys such as `model: PROVIDER/NAME`, then %s, then the system prompt", fence, fence)
		return "", "", 0, false
	}
	for i, line := range lines[1:] {
		if strings.TrimRight(line, " \t") != fence {
			continue
		}
		a.Offset = 1
		rest, first := lines[i+2:], i+3
		for len(rest) > 0 && strings.TrimSpace(rest[0]) == "" {
			rest, first = rest[1:], first+1
		}
		return strings.Join(lines[1:i+1], "\n") + "\n", strings.TrimRight(strings.Join(rest, "\n"), " \t\n"), first, true
	}
	a.ProblemAt(1, 1, "", "the front matter has no end; put a line %s below its last key", fence)
	return "", "", 0, false
}

// stem is a file's name without folder and ending.
func stem(path string) string {
	base := filepath.Base(path)
	return strings.TrimSuffix(base, filepath.Ext(base))
}
