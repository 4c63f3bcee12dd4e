package main

import (
	"fmt"
	"io"

	"everstep/domain"
)

// fromStdin is the prompt that stands for what standard input holds.
const fromStdin = "-"

// prompt is a prompt as it was given on the command line, or what standard
// input holds in its place.
func (p *program) prompt(argument string) (string, error) {
	text := argument
	if argument == fromStdin {
		data, err := io.ReadAll(io.LimitReader(p.in, domain.MaxMessage+1))
		if err != nil {
			return "", fmt.Errorf("prompt: reading standard input: %w", err)
		}
		text = string(data)
	}
	return text, domain.CheckPrompt(text)
}
