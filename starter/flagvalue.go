package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A choice is a flag that takes one of a few words.
type choice[E ~string] struct {
	target *E
	among  []E
}

func (c choice[E]) String() string { return string(*c.target) }
func (c choice[E]) Type() string   { return strings.Join(names(c.among), "|") }

// Set accepts the known words only.
func (c choice[E]) Set(text string) error {
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

// A filled is a flag that takes any text but none: an empty one is most likely
// a shell variable that is not set.
type filled struct{ target *string }

func (f filled) String() string { return "" }
func (f filled) Type() string   { return "string" }

// Set refuses the empty text.
func (f filled) Set(text string) error {
	if text == "" {
		return errors.New("is empty; give a name, or leave it out")
	}
	*f.target = text
	return nil
}

// A span is a flag that takes a duration that is not negative.
type span struct{ target *time.Duration }

func (s span) String() string { return "" }
func (s span) Type() string   { return "duration" }

// Set reads a duration such as 30s.
func (s span) Set(text string) error {
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

// A ranged is a flag that takes a whole number in a range.
type ranged struct {
	target      *int
	least, most int
}

func (w ranged) String() string { return "" }
func (w ranged) Type() string   { return "number" }

// Set reads a number in the range.
func (w ranged) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < w.least || n > w.most {
		return fmt.Errorf("is no whole number from %d to %d", w.least, w.most)
	}
	*w.target = n
	return nil
}
