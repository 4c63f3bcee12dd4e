package agentfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"everstep/activities/document"
	"everstep/activities/output"
	"everstep/domain"
	"everstep/domain/spelling"
)

// maxSchemaFile bounds a schema's file in bytes, white space included. What is
// left of it may have output.MaxSchema.
const maxSchemaFile = 4 * output.MaxSchema

// schemaFile reads a schema's file, which lies in the agent's folder or below:
// nothing else of the machine gets into a definition, links or not.
func (a *agent) schemaFile(path string) (json.RawMessage, error) {
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
		return nil, fmt.Errorf("there is no file %s in the agent file's folder%s", short, nearSchema(folder, path))
	case err != nil:
		return nil, fmt.Errorf("%s cannot be read: %w; a link may not lead out of the agent file's folder", short, bare(err))
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file; name one that holds a JSON Schema", short)
	case info.Size() > maxSchemaFile:
		return nil, fmt.Errorf("%s has more than %d bytes; make it smaller", short, maxSchemaFile)
	}
	data, err := folder.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", short, bare(err))
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if err := json.Unmarshal(data, new(json.RawMessage)); err != nil {
		return nil, fmt.Errorf("%s is no JSON: %w", placed(short, data, err), err)
	}
	var compact bytes.Buffer
	err = json.Compact(&compact, data)
	return compact.Bytes(), err
}

// placed is a file with the place of a syntax error.
func placed(path string, data []byte, err error) string {
	syntax, ok := errors.AsType[*json.SyntaxError](err)
	if !ok {
		return path
	}
	before := data[:min(max(int(syntax.Offset)-1, 0), len(data))]
	return fmt.Sprintf("%s:%d:%d", path, bytes.Count(before, []byte("\n"))+1, len(before)-bytes.LastIndexByte(before, '\n'))
}

func nearSchema(folder *os.Root, path string) string {
	entries, err := fs.ReadDir(folder.FS(), filepath.ToSlash(filepath.Dir(path)))
	if err != nil {
		return ""
	}
	names := make([]string, len(entries))
	for i, entry := range entries {
		names[i] = entry.Name()
	}
	if name, ok := spelling.Nearest(filepath.Base(path), names); ok {
		return "; did you mean " + filepath.Join(filepath.Dir(path), name) + "?"
	}
	return ""
}

// checkFormat says what is wrong with a schema, as far as it can be told without
// the provider. It fetches nothing.
func checkFormat(raw json.RawMessage) string {
	_, err := output.Compile(domain.ResponseFormat{Type: domain.FormatSchema, Name: DefaultFormatName, Schema: raw})
	return strings.TrimPrefix(failure(err), "response_format.schema: ")
}
