package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"everstep/activities/record"
	"everstep/domain"
	"everstep/starter/client"
	"everstep/starter/local"
	"everstep/starter/render"
)

func exportCommand(p *program) *cobra.Command {
	var number int
	var session bool
	var file string
	command := p.looking("export ID", "Write an agent's executions or session to a file", `Writes the executions of an agent that have ended to a file, or to standard
output: JSON, one execution a line, each with its digest, and where a rewind or a
clear has left its session since. It takes them from the
workers' records (starter help operations), else from the server. What neither
has any more is reported as gone (exit 1), and the others are written. import
reads the file.

The file holds all that was said. A name that ends in .zst has it compressed.

With --session it writes what the agent's session holds, in JSON, for another agent
to begin with: its messages but those that a rewind or a clear has taken back, its
metadata, model, system prompt and response format, and none of its executions.
run, start and send take it as --messages FILE. Messages that can no longer be read
are reported as gone (exit 1), and left out.`, `  starter export notes -o notes.jsonl.zst
  starter export notes --execution 2 -o second.jsonl
  starter export notes | jq -r '.record.executions[0]?.ended.answer // empty'
  starter export notes --session -o notes.json
  starter run --id copy --messages notes.json "Go on from there"`, func(ctx context.Context, s *local.Stack, id string) error {
		if session {
			return p.exportSession(ctx, s, id, file)
		}
		x, err := s.Agents.Export(ctx, id, number)
		if err != nil {
			return err
		}
		for _, gone := range x.Gone {
			p.report(errors.New(gone))
		}
		write := record.Write
		if strings.HasSuffix(file, ".zst") {
			write = record.Compressed
		}
		err = p.output(file, func(w io.Writer) error { return write(w, x.Records...) }, "wrote %s of %s to %s", render.Counted(len(x.Records), "execution"), id, file)
		if x.InProgress > 0 {
			p.say("execution %d is in progress and is not among them", x.InProgress)
		}
		if err == nil && len(x.Gone) > 0 {
			return reported(&client.Error{Class: client.Gone, Message: x.Gone[0]})
		}
		return err
	})
	executionFlag(command, &number)
	command.Flag("execution").Usage = "the execution's number; all unless given"
	command.Flags().BoolVar(&session, "session", false, "write what the session holds, which run takes as --messages FILE")
	command.MarkFlagsMutuallyExclusive("session", "execution")
	command.Flags().StringVarP(&file, "output", "o", "", "the `FILE` to write, in place of one of that name; standard output unless given")
	return command
}

// exportSession writes what the session of an agent holds. Where messages of it are gone it writes the others.
func (p *program) exportSession(ctx context.Context, s *local.Stack, id, file string) error {
	if strings.HasSuffix(file, ".zst") {
		return usage("--output: what a session holds is not compressed; give a name that does not end in .zst")
	}
	state, err := s.Agents.State(ctx, id)
	gone := client.Is(err, client.Gone) && !state.AgentID.IsZero()
	if err != nil && !gone {
		return err
	}
	saved, encodingErr := state.EncodeSession()
	if encodingErr != nil {
		return encodingErr
	}
	if gone {
		p.report(err)
	}
	return cmp.Or(p.output(file, func(w io.Writer) error {
		if file == "" {
			return p.out.JSON(json.RawMessage(saved)) // a terminal may read it
		}
		_, err := w.Write(append(saved, '\n'))
		return err
	}, "wrote the session of %s to %s", id, file), reported(err))
}

// output writes to a file, and says so, or to standard output.
func (p *program) output(file string, write func(io.Writer) error, said string, args ...any) error {
	if file == "" {
		return write(p.out)
	}
	err := writeWhole(file, write)
	if err == nil {
		p.say(said, args...)
	}
	return err
}

// writeWhole writes a file that is there whole or not at all, for this user alone. A device or a pipe is written to and
// stays what it is, and a link leads to the file that is replaced.
func writeWhole(file string, write func(io.Writer) error) error {
	if there, err := os.Stat(file); err == nil && !there.Mode().IsRegular() && !there.IsDir() {
		return writeInto(file, write)
	}
	if target, err := filepath.EvalSymlinks(file); err == nil {
		file = target
	}
	beside, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-*")
	if err != nil {
		return fmt.Errorf("output: %w", err)
	}
	buffered := bufio.NewWriter(beside)
	err = errors.Join(write(buffered), buffered.Flush(), beside.Sync(), beside.Close())
	if err == nil {
		err = os.Rename(beside.Name(), file)
	}
	if err != nil {
		_ = os.Remove(beside.Name()) // it is of no use
		return fmt.Errorf("output: %w", err)
	}
	return nil
}

func writeInto(device string, write func(io.Writer) error) error {
	w, err := os.OpenFile(device, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("output: %w", err)
	}
	buffered := bufio.NewWriter(w)
	if err := errors.Join(write(buffered), buffered.Flush(), w.Close()); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	return nil
}

// An importedAgent is what a file has brought of one agent.
type importedAgent struct {
	ID         string         `json:"id"`
	AgentID    domain.AgentID `json:"agent_id"`
	Executions []int          `json:"executions"`
}

func importCommand(p *program) *cobra.Command {
	return newCommand("import FILE", "Put the executions of an exported file among the records", `Reads a file that export has written, and puts its executions among the records,
in the store that EVERSTEP_RECORDS names, else in the one below the storage: all
or, where the file is broken, newer or no file of export, or says something else
than a record that is there, none.
list --records lists them, and what reads an agent reads them, where the server
has none of it or is not up. No workflow of them is here: send does not reach
them, and fork begins an agent that goes on from there.

- is standard input. It needs no server.`, `  EVERSTEP_RECORDS=~/everstep-records starter import notes.jsonl.zst
  EVERSTEP_RECORDS=~/everstep-records starter import - < notes.jsonl`, func(ctx context.Context, args []string) (err error) {
		in, name := p.in, "standard input"
		if args[0] != "-" {
			file, err := openExported(ctx, args[0])
			if err != nil {
				return err
			}
			defer file.Close()
			in, name = file, args[0]
		}
		file, done, err := twiceReadable(ctx, in)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		defer func() { err = errors.Join(err, done()) }()
		store, err := p.machine.Records(ctx)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, store.Close()) }()
		brought, err := record.Import(ctx, store, named(name, record.All(file)), p.now())
		if errors.Is(err, context.Canceled) {
			return errLeft
		}
		if err != nil {
			return err
		}
		moved := ""
		if brought.Moved > 0 {
			moved = fmt.Sprintf("; %s that were there stand elsewhere now, by a rewind or a clear that the file tells of", render.Counted(brought.Moved, "session"))
		}
		return p.done(importedOf(brought), "imported %s into %s; %d were there already%s", render.Counted(len(brought.New), "execution"), store.Name(), brought.Known, moved)
	})
}

// openExported opens a file, and says what to do where it cannot be read.
func openExported(ctx context.Context, name string) (*os.File, error) {
	const like = "`starter import notes.jsonl.zst` is an example, and - is standard input"
	info, err := os.Stat(name)
	switch {
	case name == "":
		return nil, usage("file: is empty; give one that export has written: %s", like)
	case errors.Is(err, fs.ErrNotExist):
		return nil, usage("file: there is no file %s; give one that export has written: %s", name, like)
	case err == nil && info.IsDir():
		return nil, usage("file: %s is a folder; give a file that export has written: %s", name, like)
	}
	file, err := openGiven(ctx, name)
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, usage("file: %s cannot be read: %s", name, failed.Err)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return file, nil
}

// named has what is wrong with a file name it.
func named(file string, records iter.Seq2[record.Record, error]) iter.Seq2[record.Record, error] {
	return func(yield func(record.Record, error) bool) {
		for r, err := range records {
			if err != nil {
				err = fmt.Errorf("%s: %w", file, err)
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// twiceReadable is what comes in, in a file: itself where it is one, else a copy without a name, which goes with the process
// however that ends, and else by done.
func twiceReadable(ctx context.Context, in io.Reader) (file io.ReadSeeker, done func() error, err error) {
	if seeker, ok := in.(io.ReadSeeker); ok {
		if _, err := seeker.Seek(0, io.SeekStart); err == nil {
			return seeker, func() error { return nil }, nil
		}
	}
	kept, err := os.CreateTemp("", "everstep-import-*")
	if err != nil {
		return nil, nil, err
	}
	undone := os.Remove(kept.Name()) // not every system removes what is open
	done = func() error {
		if err := kept.Close(); undone == nil || err != nil {
			return err
		}
		return os.Remove(kept.Name())
	}
	if _, err = io.Copy(kept, io.LimitReader(untilLeft(ctx, in), record.MaxBytes)); err != nil {
		return nil, nil, errors.Join(err, done())
	}
	return kept, done, nil
}

func importedOf(done record.Imported) any {
	agents := []importedAgent{}
	at := map[domain.AgentID]int{}
	for _, r := range done.New {
		i, known := at[r.AgentID]
		if !known {
			i = len(agents)
			at[r.AgentID] = i
			agents = append(agents, importedAgent{ID: cmp.Or(r.Name, r.AgentID.String()), AgentID: r.AgentID})
		}
		agents[i].Executions = append(agents[i].Executions, r.Number)
		slices.Sort(agents[i].Executions) // the newest comes first
	}
	return struct {
		Agents []importedAgent `json:"agents"`
		// Known counts those that were there already.
		Known int `json:"known"`
		// Moved counts sessions that were there, and that the file says were rewound or cleared since.
		Moved int `json:"moved"`
	}{agents, done.Known, done.Moved}
}
