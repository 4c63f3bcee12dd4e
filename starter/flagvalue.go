package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// A choiceFlag is a flag that takes one of a few words.
type choiceFlag[E ~string] struct {
	target *E
	among  []E
}

func (c choiceFlag[E]) String() string { return string(*c.target) }
func (c choiceFlag[E]) Type() string   { return strings.Join(names(c.among), "|") }

// Set accepts the known words only.
func (c choiceFlag[E]) Set(text string) error {
	for _, known := range c.among {
		if text == string(known) {
			*c.target = known
			return nil
		}
	}
	return fmt.Errorf("is none of %s", strings.Join(names(c.among), ", "))
}

func names[E ~string](values []E) []string {
	texts := make([]string, len(values))
	for i, value := range values {
		texts[i] = string(value)
	}
	return texts
}

// A textFlag is a flag that takes any text but none: an empty one is most likely
// a shell variable that is not set.
type textFlag struct{ target *string }

func (f textFlag) String() string { return "" }
func (f textFlag) Type() string   { return "string" }

// Set refuses the empty text.
func (f textFlag) Set(text string) error {
	if text == "" {
		return errors.New("is empty; give a name, or leave it out")
	}
	*f.target = text
	return nil
}

// A durationFlag is a flag that takes a duration that is not negative.
type durationFlag struct{ target *time.Duration }

func (s durationFlag) String() string { return "" }
func (s durationFlag) Type() string   { return "duration" }

// Set reads a duration such as 30s.
func (s durationFlag) Set(text string) error {
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return errors.New("is no duration; write it like 30s or 1m30s")
	case d < 0:
		return errors.New("is negative; give a duration from 0 on, such as 30s")
	}
	*s.target = d
	return nil
}

// A numberFlag is a flag that takes a whole number in a range.
type numberFlag struct {
	target      *int
	least, most int
}

func (w numberFlag) String() string { return "" }
func (w numberFlag) Type() string   { return "number" }

// Set reads a number in the range.
func (w numberFlag) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < w.least || n > w.most {
		return fmt.Errorf("is no whole number from %d to %d", w.least, w.most)
	}
	*w.target = n
	return nil
}

// executionFlag adds the flag that names an execution by its number.
func executionFlag(command *cobra.Command, number *int) {
	command.Flags().Var(numberFlag{number, 1, 1<<31 - 1}, "execution", "which execution; the newest unless given")
}
