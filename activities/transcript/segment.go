package transcript

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/workflow"
	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"everstep/domain"
	"everstep/domain/contract"
)

// Record writes a range of the transcript to storage as one object, and says where. Only activities
// may call it. It is safe to run twice: the object's name says what is in it, and it is visible whole
// or not at all. The messages are those of the run that the request names, of another agent too, else of the activity's;
// the segment is the activity's run's either way.
func (s *Source) Record(ctx context.Context, want contract.RecordRequest) (contract.Segment, error) {
	return s.record(ctx, activity.GetInfo(ctx).WorkflowExecution, want)
}

func (s *Source) record(ctx context.Context, run workflow.Execution, want contract.RecordRequest) (contract.Segment, error) {
	segment := contract.Segment{RunID: run.RunID, From: want.From, To: want.Log.Length, Digest: want.Log.Digest}
	if segment.From < 0 || segment.From >= segment.To {
		return segment, domain.Invalidf("record: there is no message from %d up to %d", segment.From, segment.To)
	}
	if s.Storage == nil {
		return segment, noStorage()
	}
	holder := run
	if want.RunID != "" {
		holder.RunID = want.RunID
	}
	if want.WorkflowID != "" {
		holder.ID = want.WorkflowID
	}
	found, err := s.fetch(ctx, holder, request{from: want.From, ref: want.Log})
	if err != nil {
		return segment, err
	}
	before, _ := found.Log.ChainAt(want.From)
	object, err := encode(before, found.Log.From(want.From), maxSegment)
	if err != nil {
		return segment, domain.Errorf(domain.Internal, "record: %v", err)
	}
	if err = s.write(ctx, segment.Key(run.ID), object); err != nil {
		return segment, storageFailed(ctx, "write", segment.Key(run.ID), err)
	}
	segment.Bytes = int64(len(object))
	return segment, nil
}

// write writes an object. In a directory the disk has it then, and the folders that
// name it: the run that continues has it nowhere else.
func (s *Source) write(ctx context.Context, key string, object []byte) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var file *os.File // nil in a bucket
	w, err := s.Storage.NewWriter(ctx, key, &blob.WriterOptions{
		ContentType: "application/zstd", BeforeWrite: func(as func(any) bool) error { as(&file); return nil },
	})
	if err != nil {
		return err
	}
	if _, err = w.Write(object); err == nil && file != nil {
		err = s.toDisk(file)
	}
	if err != nil {
		cancel() // Close takes back what was written
		return errors.Join(err, w.Close())
	}
	if err = w.Close(); err != nil || file == nil {
		return err
	}
	folder := filepath.Dir(file.Name())
	for range strings.Count(key, "/") + 1 {
		if opened, err := os.Open(folder); err == nil {
			_ = s.toDisk(opened) // not every file system can
			_ = opened.Close()
		}
		folder = filepath.Dir(folder)
	}
	return nil
}

func (s *Source) toDisk(file *os.File) error {
	if s.sync != nil {
		return s.sync(file)
	}
	return file.Sync()
}

// stored is what an object holds; whether it is right its segment's digest tells.
type stored struct {
	// before is the digest of all messages before the first one; zero where there are none.
	before  domain.Digest
	entries []domain.Entry
}

func (s *Source) read(ctx context.Context, workflowID string, segment contract.Segment) (none stored, _ error) {
	if s.Storage == nil {
		return none, noStorage()
	}
	key := segment.Key(workflowID)
	object, err := s.object(ctx, key, maxSegment+1)
	if gcerrors.Code(err) == gcerrors.NotFound {
		return none, lostf("messages %d to %d are lost: storage has no object %s; does this worker use the storage of the others?",
			segment.From, segment.To-1, key)
	}
	if err != nil {
		return none, storageFailed(ctx, "read", key, err)
	}
	found, err := decode(object, segment.To-segment.From, maxSegment)
	if err != nil {
		return none, lostf("messages %d to %d are lost: object %s of the storage is damaged: %v", segment.From, segment.To-1, key, err)
	}
	return found, nil
}

// object reads so much of an object at most. One that is longer is cut, and so damaged.
func (s *Source) object(ctx context.Context, key string, most int64) ([]byte, error) {
	reader, err := s.Storage.NewReader(ctx, key, nil)
	if err != nil {
		return nil, err
	}
	object, err := io.ReadAll(io.LimitReader(reader, most))
	return object, errors.Join(err, reader.Close())
}

// maxSegment bounds an object's JSON: a few bytes of storage can hold any amount of it.
const maxSegment = 256 << 20

type line struct {
	domain.Entry
	Before domain.Digest `json:"before,omitzero"`
}

// encode writes compressed JSON, one entry a line, always the same bytes; never more than decode takes.
func encode(before domain.Digest, entries []domain.Entry, most int64) ([]byte, error) {
	var object bytes.Buffer
	compressed, err := zstd.NewWriter(&object, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	counted := &tally{Writer: compressed, left: most}
	lines := json.NewEncoder(counted)
	lines.SetEscapeHTML(false)
	for _, e := range entries {
		if err := lines.Encode(line{e, before}); err != nil {
			return nil, fmt.Errorf("message %d: %w", e.Index, err)
		}
		before = domain.Digest{}
	}
	if err := compressed.Close(); err != nil {
		return nil, err
	}
	return object.Bytes(), nil
}

// A tally is a writer that takes only so much.
type tally struct {
	io.Writer
	left int64
}

func (t *tally) Write(p []byte) (int, error) {
	if t.left -= int64(len(p)); t.left < 0 {
		return 0, errors.New("it holds more than a segment may")
	}
	return t.Writer.Write(p)
}

// decode reads at most so many entries, in so much JSON.
func decode(object []byte, count int, most int64) (none stored, _ error) {
	var found stored
	plain, err := zstd.NewReader(bytes.NewReader(object), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxSegment))
	if err != nil {
		return found, err
	}
	defer plain.Close()
	bounded := &io.LimitedReader{R: plain, N: most + 1}
	lines := json.NewDecoder(bounded)
	for {
		var l line
		err := lines.Decode(&l)
		if bounded.N == 0 || err == nil && len(found.entries) == count {
			return none, errors.New("it holds more than a segment may")
		}
		if err == io.EOF {
			return found, nil
		}
		if err != nil {
			return none, err
		}
		if len(found.entries) == 0 {
			found.before = l.Before
		}
		found.entries = append(found.entries, l.Entry)
	}
}

func noStorage() error {
	return domain.CodedErrorf(domain.Unavailable, domain.CodeContextLost,
		"transcript: a part of it is in storage and this worker has none; give it the storage of the others")
}

func storageFailed(ctx context.Context, doing, key string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("transcript: %s %s: %w", doing, key, context.Cause(ctx))
	}
	own := domain.Errorf(domain.Unavailable, "transcript: cannot %s object %s of the storage", doing, key)
	own.Detail = err.Error()
	return own
}
