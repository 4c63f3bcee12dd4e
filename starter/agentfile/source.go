package agentfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"everstep/domain/spelling"
)

// MaxSize bounds an agent's file, in bytes.
const MaxSize = 1 << 20

// endings are those of agents' files.
func endings() []string { return []string{".yaml", ".yml", ".md", ".markdown"} }

func markdown(path string) bool {
	return slices.Contains(endings()[2:], strings.ToLower(filepath.Ext(path)))
}

// IsPath reports whether a text that names an agent is a file's path, by its
// ending or its folder, and not an agent's name.
func IsPath(text string) bool {
	return strings.ContainsAny(text, `/\`) || slices.Contains(endings(), strings.ToLower(filepath.Ext(text)))
}

// read returns what a file holds. Its errors do not name the file.
func read(path string) ([]byte, error) {
	if !slices.Contains(endings(), strings.ToLower(filepath.Ext(path))) {
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("is no agent's file by its name; let it end in %s", strings.Join(endings(), ", "))
		}
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errors.New("there is no such file" + near(path))
	case err != nil:
		return nil, fmt.Errorf("cannot be read: %w", bare(err))
	case info.IsDir():
		return nil, errors.New("is a folder; name a file in it")
	case !info.Mode().IsRegular():
		return nil, errors.New("is not a regular file; copy what it gives to one")
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", bare(err))
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", bare(err))
	}
	return data, nil
}

// near suggests a file that is there for one that is not.
func near(path string) string {
	folder := filepath.Dir(path)
	entries, err := os.ReadDir(folder)
	if err != nil {
		return ", and no folder " + folder
	}
	var names []string
	for _, entry := range entries {
		if slices.Contains(endings(), strings.ToLower(filepath.Ext(entry.Name()))) {
			names = append(names, entry.Name())
		}
	}
	base := filepath.Base(path)
	for _, name := range names {
		if stem(name) == stem(base) {
			return "; did you mean " + filepath.Join(folder, name) + "?"
		}
	}
	if name, ok := spelling.Nearest(base, names); ok {
		return "; did you mean " + filepath.Join(folder, name) + "?"
	}
	return "; `starter agents list` lists those in ./agents and ./.everstep/agents"
}

// bare is an error less the path, which is told already.
func bare(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// decoded returns the text of a file, its line ends as \n.
func (r *reader) decoded(data []byte) (string, bool) {
	fail := func(format string, args ...any) (string, bool) {
		r.problems = append(r.problems, Problem{File: r.file, Message: fmt.Sprintf(format, args...)})
		return "", false
	}
	switch {
	case len(data) > MaxSize:
		return fail("has more than %d bytes; make it smaller", MaxSize)
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}), bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		return fail("is in UTF-16; save it as UTF-8")
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if !utf8.Valid(data) {
		line := 1
		for text := range bytes.Lines(data) {
			if !utf8.Valid(text) {
				break
			}
			line++
		}
		r.problemAt(line, 1, "", "is not valid UTF-8; save the file as UTF-8")
		return "", false
	}
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(data))
	if strings.TrimSpace(text) == "" {
		return fail("is empty; give it at least a model: `model: PROVIDER/NAME`")
	}
	return text, true
}
