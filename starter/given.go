package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"everstep/activities/record"
	"everstep/domain"
	"everstep/starter/client"
)

// givenFlags are what an execution begins with beside its prompt.
type givenFlags struct {
	metadata domain.Metadata
	trusted  domain.Trusted
	file     string
}

func (f *givenFlags) register(set *pflag.FlagSet) {
	noteFlags(set, &f.metadata, &f.trusted)
	set.Var(textFlag(&f.file), "messages", "the `FILE` with what was said before, as messages --json writes it, or a saved state; - is standard input")
}

// noteFlags add the flags of what is given beside messages.
func noteFlags(set *pflag.FlagSet, metadata *domain.Metadata, trusted *domain.Trusted) {
	set.Var(flagValue{"KEY=VALUE", "", func(text string) error { return readNote(metadata, text) }}, "metadata", "a note that hooks read and no model sees; once for each")
	set.Var(flagValue{"NAME=VALUE", "", func(text string) error { return readTrusted(trusted, text) }}, "with", "a trusted value, which tools get and no model changes; NAME:=JSON for what is no text; once for each")
}

// readNote reads one note. Its value is a text, whatever it looks like; its key is checked with the rest of what is given.
func readNote(into *domain.Metadata, text string) error {
	key, value, ok := strings.Cut(text, "=")
	switch {
	case !ok || key == "":
		return errors.New("has no key before a =; write it as key=value")
	case !utf8.ValidString(value):
		return errors.New("is not valid UTF-8; convert it")
	case (*into)[key] != nil:
		return fmt.Errorf("names %s twice; give it once", domain.Shorten(key, 60))
	}
	if *into == nil {
		*into = domain.Metadata{}
	}
	(*into)[key], _ = json.Marshal(value) // a text cannot fail
	return nil
}

// readTrusted reads one trusted value. After = it is a text, whatever it looks like, and JSON after :=.
func readTrusted(into *domain.Trusted, text string) error {
	name, value, ok := strings.Cut(text, "=")
	name, isJSON := strings.CutSuffix(name, ":")
	switch {
	case !ok || name == "":
		return errors.New("has no name before a =; write it as name=value, or name:=JSON")
	case (*into)[name] != nil:
		return fmt.Errorf("names %s twice; give it once", domain.Shorten(name, 60))
	case !utf8.ValidString(value):
		return errors.New("is not valid UTF-8; convert it")
	}
	encoded := json.RawMessage(value)
	if !isJSON {
		encoded, _ = json.Marshal(value) // a text cannot fail
	}
	all, err := into.With(domain.Trusted{name: encoded})
	if err == nil {
		*into = all
	}
	return err
}

// maxGiven bounds a file of messages, or a saved state with its steps.
const maxGiven = 16 << 20

// read reads what is in the file: messages, or a state.
func (f *givenFlags) read(ctx context.Context, p *program, prompt string) (messages []domain.Entry, state *domain.AgentState, err error) {
	if _, err := domain.NewStartOptions(f.metadata, nil, nil); err != nil {
		return nil, nil, err
	}
	var text []byte
	switch {
	case f.file == "":
		return nil, nil, nil
	case f.file == fromStdin && prompt == fromStdin:
		return nil, nil, usage("--messages: standard input can be the messages or the prompt, not both; put one in its place")
	case f.file == fromStdin:
		text, err = readGiven(ctx, p.in, maxGiven)
	default:
		text, err = readPlain(f.file, maxGiven, "the messages")
	}
	if err == nil && len(text) > maxGiven {
		err = fmt.Errorf("has more than %d bytes; leave the oldest messages out", maxGiven)
	}
	switch {
	case errors.Is(err, errLeft):
		return nil, nil, fmt.Errorf("--messages: %w", err)
	case err != nil:
	case record.IsFile(text):
		err = errors.New("is a file of export; import it, and fork from its agent")
	case isState(text) && !json.Valid(text):
		err = errors.New("is no whole saved state: it was cut off, or something follows it; give one as it was written")
	case isState(text):
		var saved domain.AgentState
		saved, err = domain.DecodeAgentState(text)
		state = &saved
	default:
		messages, err = client.ReadMessages(text)
	}
	if err != nil {
		return nil, nil, usage("--messages: %s: %s", f.file, err)
	}
	return messages, state, nil
}

// isState reports whether a text begins as an object that has a schema_version, which messages do not have.
func isState(text []byte) bool {
	decoder := json.NewDecoder(bytes.NewReader(text))
	if begin, err := decoder.Token(); err != nil || begin != json.Delim('{') {
		return false
	}
	for decoder.More() {
		key, err := decoder.Token()
		if key == "schema_version" {
			return true
		}
		var value json.RawMessage
		if err != nil || decoder.Decode(&value) != nil {
			return false
		}
	}
	return false
}

// over is the start of an agent with what is given, whose definition says what a saved state does not.
func (f *givenFlags) over(ctx context.Context, p *program, definition domain.Definition, prompt string) (client.Start, error) {
	messages, state, err := f.read(ctx, p, prompt)
	start := client.Start{Definition: definition, Metadata: f.metadata, Messages: messages, Trusted: f.trusted}
	if err != nil || state == nil {
		return start, err
	}
	if names := state.Trusted().Names(); len(names) > 0 {
		p.say("--messages: the trusted values of %s are left behind (%s); --with gives an agent its own", f.file, strings.Join(names, ", "))
	}
	if start, err = start.WithState(*state); err == nil {
		_, err = domain.NewStartOptions(nil, start.Messages, nil)
	}
	if err != nil {
		err = usage("--messages: %s: %s", f.file, err)
	}
	return start, err
}

// onlyMessages are those given to an agent that has a state.
func (f *givenFlags) onlyMessages(ctx context.Context, p *program, prompt string) ([]domain.Entry, error) {
	messages, state, err := f.read(ctx, p, prompt)
	if state != nil {
		return nil, usage("--messages: %s: is a saved state, with which an agent begins; give messages, or the state to run", f.file)
	}
	return messages, err
}

// errLeft is the error of a command that was left while it waited for what it is to work with.
var errLeft = &exitError{code: exitDetached, text: "left before all of it was read; nothing was done", cause: context.Canceled}

// orLeft does what may never end, until the person leaves: it then ends with the process.
func orLeft[T any](ctx context.Context, do func() (T, error)) (value T, err error) {
	if ctx.Err() != nil { // what was left may still be under way
		return value, errLeft
	}
	type made struct {
		value T
		err   error
	}
	done := make(chan made, 1)
	go func() {
		value, err := do()
		done <- made{value, err}
	}()
	select {
	case <-ctx.Done():
		return value, errLeft
	case m := <-done:
		return m.value, m.err
	}
}

type reading func(into []byte) (int, error)

func (r reading) Read(into []byte) (int, error) { return r(into) }

// untilLeft reads what comes in until the person leaves. Nothing but its other end ends the read of a pipe.
func untilLeft(ctx context.Context, in io.Reader) io.Reader {
	buffer := make([]byte, 32<<10) // that of a read that was left is never anybody else's
	return reading(func(into []byte) (int, error) {
		part := buffer[:min(len(into), len(buffer))]
		n, err := orLeft(ctx, func() (int, error) { return in.Read(part) })
		return copy(into, part[:n]), err
	})
}

// openGiven opens a file that was named. A FIFO does not open before somebody writes to it.
func openGiven(ctx context.Context, name string) (*os.File, error) {
	return orLeft(ctx, func() (*os.File, error) { return os.Open(name) })
}

// readGiven reads all that comes in, and a little more than there may be.
func readGiven(ctx context.Context, in io.Reader, most int64) ([]byte, error) {
	return io.ReadAll(io.LimitReader(untilLeft(ctx, in), most+1))
}
