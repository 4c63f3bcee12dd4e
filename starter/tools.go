package main

import (
	"fmt"
	"slices"
	"strings"

	"everstep/activities/files"
	"everstep/domain"
)

// toolNames are those of the tools that the workers of this program have.
func toolNames() []string {
	var names []string
	for _, t := range new(files.Root).Tools() {
		names = append(names, t.Spec().Name)
	}
	return names
}

// checkTools says at once what a worker of this program would say of tools.
func checkTools(tools []string) error {
	known := toolNames()
	for _, name := range tools {
		if slices.Contains(known, name) {
			continue
		}
		short := domain.Shorten(name, 100)
		if near, ok := nearest(name, known); ok {
			return usage(fmt.Sprintf("tool: there is no %q; did you mean %s?", short, near))
		}
		return usage(fmt.Sprintf("tool: there is no %q; there are %s, and others on workers of your own: name their --task-queue",
			short, strings.Join(known, ", ")))
	}
	return nil
}
