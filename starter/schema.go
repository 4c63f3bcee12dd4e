package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	answers "everstep/activities/output"
	"everstep/domain"
)

// readFormat reads the response format that a file with a JSON Schema makes,
// and checks it as a worker would.
func readFormat(path string, mode domain.OutputMode) (domain.ResponseFormat, error) {
	wrong := func(text string) error { return usage(fmt.Sprintf("--output: %s: %s", path, text)) }
	text, err := readSchema(path)
	if err != nil {
		return domain.ResponseFormat{}, wrong(err.Error())
	}
	if len(text) > answers.MaxSchema {
		return domain.ResponseFormat{}, wrong(fmt.Sprintf("has more than %d bytes; give a smaller schema", answers.MaxSchema))
	}
	var schema struct {
		Title any `json:"title"`
	}
	if kind := bytes.TrimSpace(text); len(kind) == 0 || kind[0] != '{' {
		return domain.ResponseFormat{}, wrong("is no JSON object; give a JSON Schema such as {\"type\": \"object\", …}")
	}
	_ = json.Unmarshal(text, &schema) // what is wrong with it is said below
	title, _ := schema.Title.(string)
	format := domain.ResponseFormat{
		Type: domain.FormatSchema, Name: formatName(title, path), Schema: compacted(text), Mode: mode,
	}
	if _, err := answers.Compile(format); err != nil {
		return domain.ResponseFormat{}, wrong(strings.TrimPrefix(err.Error(), "response_format.schema: "))
	}
	return format, nil
}

// readSchema reads a little more of a file than a schema may have.
func readSchema(path string) ([]byte, error) {
	file, err := os.Open(path)
	if os.IsNotExist(err) {
		return nil, fmt.Errorf("there is no such file; check the path")
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, answers.MaxSchema+1))
}

// compacted is JSON without white space; what is no JSON stays as it is.
func compacted(text []byte) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, text) != nil {
		return text
	}
	return b.Bytes()
}

// maxFormatName is how long a provider lets the name of a format be.
const maxFormatName = 64

// formatName is what a format is called: by the title of its schema, else by its
// file, with what providers refuse replaced.
func formatName(title, path string) string {
	name := title
	if name == "" {
		name = filepath.Base(path)
		name = strings.TrimSuffix(strings.TrimSuffix(name, filepath.Ext(name)), ".schema")
	}
	name = strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '_'
	}, name)
	if name = strings.Trim(name[:min(len(name), maxFormatName)], "_"); name == "" {
		return "answer"
	}
	return name
}
