package record

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"reflect"
	"sync"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"

	"everstep/activities/build"
	"everstep/domain"
	"everstep/domain/account"
)

// Format names the form of kept records and exported files.
const Format = "everstep-records"

// SchemaVersion is written at the root of each file. A file of another number is not read.
const SchemaVersion = 1

const (
	// MaxBytes bounds the JSON of a file: a few bytes can be the compressed form of any amount of it.
	MaxBytes = 1 << 30
	// MaxRecord bounds that of one record, in a file and in a store, which is held in memory several times over. A step of a few KB takes
	// some 4 KB, so 500 of them 2 MB; it has room for a thousand of the longest results of tools.
	MaxRecord = 64 << 20
	// maxBuild bounds what is taken of the name of the build that wrote a file.
	maxBuild = 200
	// maxHead bounds the first line, which says little: what is no file of ours is not read far for it.
	maxHead = 64 << 10
	// window is how far back what Compressed writes refers, and maxWindow how far what is read may.
	window    = 1 << 20
	maxWindow = 32 << 20
	// maxObject bounds the bytes of an object of a store, which has one record with a head and an end.
	maxObject = MaxRecord + 1<<20
)

// A head is the first line of a file.
type head struct {
	Format        string `json:"format"`
	SchemaVersion int    `json:"schema_version"`
	Build         string `json:"build"` // that wrote the file
	Records       int    `json:"records"`
}

// A kept is the line of a record or of a position. The digest is of the bytes of the record as they stand.
type kept struct {
	Digest domain.Digest   `json:"digest"`
	Record json.RawMessage `json:"record"`
}

// A tail is the last line, with the digest of all digests: a file that was cut off has none.
type tail struct {
	End *domain.Digest `json:"end"`
}

// Write writes records: a line that says what the file is, one for each execution with its digest, behind it one for the
// position that the session was moved to since, and an end.
func Write(w io.Writer, records ...Record) error { return write(w, linesOf(records)...) }

// Compressed is Write, compressed. Equal records have equal bytes.
func Compressed(w io.Writer, records ...Record) error { return compressed(w, linesOf(records)...) }

func linesOf(records []Record) (lines []json.Marshaler) {
	for _, r := range records {
		if lines = append(lines, r); r.Moved != nil {
			lines = append(lines, *r.Moved)
		}
	}
	return lines
}

// write writes records and positions, which encode themselves as domain.Encode does.
func write(w io.Writer, all ...json.Marshaler) error {
	lines := json.NewEncoder(w)
	lines.SetEscapeHTML(false)
	if err := lines.Encode(head{Format, SchemaVersion, build.ID(), len(all)}); err != nil {
		return err
	}
	var digests [][]byte
	for i, line := range all {
		text, err := line.MarshalJSON()
		if err != nil {
			return fmt.Errorf("record %d: %w", i+1, err)
		}
		if len(text) > MaxRecord-maxHead { // the line has the digest too; no reader would take it
			return domain.CodedErrorf(domain.TooLarge, domain.CodeContextLost, "record %d: has %d MiB; no more than %d are recorded", i+1, len(text)>>20, MaxRecord>>20)
		}
		digest := domain.DigestOf(text)
		digests = append(digests, digest[:])
		for _, piece := range [][]byte{fmt.Appendf(nil, `{"digest":%q,"record":`, digest), text, []byte("}\n")} {
			if _, err := w.Write(piece); err != nil {
				return err
			}
		}
	}
	return lines.Encode(tail{new(domain.DigestOf(digests...))})
}

func compressed(w io.Writer, lines ...json.Marshaler) error {
	z := encoders.Get().(*zstd.Encoder)
	defer encoders.Put(z)
	z.Reset(w)
	return errors.Join(write(z, lines...), z.Close())
}

// encoders are used again: each begins with MB of memory to be cleared, and most records are small.
var encoders = sync.Pool{New: func() any {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(window), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic(err) // of an option that it does not take
	}
	return z
}}

// All reads a file from its beginning, each time that it is ranged over, one record at a time. The file is right only where
// no error comes: its last line may yet say that it was changed. No error is followed by anything.
func All(file io.ReadSeeker) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		_, err := file.Seek(0, io.SeekStart)
		if err == nil {
			err = readRecords(file, func(one Record) error {
				if !yield(one, nil) {
					return errEnough
				}
				return nil
			})
		}
		if err != nil && !errors.Is(err, errEnough) {
			yield(Record{}, err)
		}
	}
}

var errEnough = errors.New("nobody wants more")

// readRecords has each record of a file taken, with the position that stands behind it.
func readRecords(r io.Reader, take func(Record) error) error {
	var last *Record
	err := read(r, decoded, func(line any) (err error) {
		if err := keeps(line); err != nil {
			return err
		}
		if p, moved := line.(Position); moved {
			if last == nil || last.Moved != nil || last.Ref() != p.After() {
				return invalid("record.head.position.moved", "does not stand behind the execution that it comes after, %d", p.After().Number)
			}
			if err := p.checkBehind(*last); err != nil {
				return fmt.Errorf("record.%w", err)
			}
			last.Moved = &p
			return nil
		}
		if last != nil {
			err = take(*last)
		}
		last = new(line.(Record))
		return err
	})
	if err == nil && last != nil {
		err = take(*last)
	}
	return err
}

// read has what each line of a file holds decoded and taken.
func read(r io.Reader, decode func([]byte) (any, error), take func(any) error) error {
	file := bufio.NewReader(r)
	if _, err := file.Peek(1); errors.Is(err, io.EOF) {
		return domain.Invalidf("line 1: is missing: the file is empty; give one that export has written")
	}
	plain, done, err := decompressed(file)
	if err != nil {
		return err
	}
	defer done()
	lines := &lineReader{r: bufio.NewReader(plain), left: MaxBytes, most: maxHead}
	head, err := lines.head()
	lines.most = MaxRecord
	if err != nil {
		return lines.wrong(err)
	}
	var digests [][]byte
	seen := map[domain.ExecutionID]bool{}
	for range head.Records {
		line, err := lines.next()
		if err != nil {
			return lines.wrong(err)
		}
		one, digest, err := readKept(line, decode)
		if r, ok := one.(Record); ok && err == nil {
			if seen[r.ExecutionID] {
				err = domain.Invalidf("record.execution_id: %s comes twice", r.ExecutionID)
			}
			seen[r.ExecutionID], r.Build = true, domain.Shorten(head.Build, maxBuild)
			one = r
		}
		if err == nil {
			digests = append(digests, digest[:])
			err = take(one)
		}
		if errors.Is(err, errEnough) {
			return err
		}
		if err != nil {
			return lines.wrong(err)
		}
	}
	last, err := lines.next()
	if err == nil {
		err = readTail(last, domain.DigestOf(digests...))
	}
	if err == nil {
		if _, more := lines.next(); !errors.Is(more, errEnds) {
			err = domain.Invalidf("follows the end; the file was changed")
		}
	}
	if err != nil {
		return lines.wrong(err)
	}
	return nil
}

// head reads the first line. Of what does not begin as a file of ours is not said that it was cut off.
func (l *lineReader) head() (none head, _ error) {
	line, err := l.next()
	begun := bytes.HasPrefix(line, plainMagic) || bytes.HasPrefix(plainMagic, line) || bytes.HasPrefix(zstdMagic, line)
	switch {
	case bytes.HasPrefix(line, gzipMagic):
		return none, domain.Invalidf("is compressed with gzip; decompress it: export compresses with zstd, and what is plain is read too")
	case bytes.HasPrefix(line, sessionMagic):
		return none, domain.Invalidf("is a saved session, which run takes as --messages FILE; give a file that export has written without --session")
	case err == nil:
		return readHead(line)
	case !begun, domain.AsError(err).Kind == domain.TooLarge:
		return none, errNoHead
	}
	return none, err
}

func readHead(line []byte) (h head, err error) {
	err = domain.DecodeInto(line, &h)
	switch {
	case !json.Valid(line), h.Format == "" && err != nil:
		return h, errNoHead
	case h.Format != Format:
		return h, domain.Invalidf("format: is %q and not %q; give a file that export has written", domain.Shorten(h.Format, 64), Format)
	}
	if other := domain.CheckSchema(line, SchemaVersion); other != nil {
		return h, other
	}
	switch {
	case err != nil:
		return h, err
	case h.Records < 0:
		return h, domain.Invalidf("records: is %d; it may not be negative", h.Records)
	}
	return h, nil
}

func readKept(line []byte, decode func([]byte) (any, error)) (one any, digest domain.Digest, err error) {
	var k kept
	if err := domain.DecodeTyped(line, &k); err != nil { // it has no lists; those of the record are looked at by decode
		return nil, digest, err
	}
	if k.Record == nil {
		return nil, digest, domain.Invalidf("record: is missing; the head says that there are more")
	}
	if domain.DigestOf(k.Record) != k.Digest {
		return nil, digest, domain.Invalidf("digest: is not that of the record; the file was damaged or changed" + anew)
	}
	if !utf8.Valid(k.Record) {
		return nil, digest, domain.NotUTF8("record", k.Record, reflect.TypeFor[account.Account]())
	}
	if one, err = decode(k.Record); err != nil {
		err = fmt.Errorf("record.%w", err)
	}
	return one, k.Digest, err
}

// decoded reads a Record or a Position out of its account.
func decoded(text []byte) (any, error) {
	var a account.Account
	if err := domain.DecodeInto(text, &a); err != nil {
		return nil, err
	}
	if a.Head != nil && a.Head.Position.Moved != nil {
		return positionIn(a)
	}
	return readRecord(a)
}

// keeps refuses what is read and, once it was written again, no more: whoever made a file may leave out what we always write.
func keeps(line any) error {
	text, err := domain.Encode(line)
	if err == nil {
		_, err = decoded(text)
	}
	if err != nil {
		return domain.Invalidf("record.%s", err)
	}
	return nil
}

func readTail(line []byte, want domain.Digest) error {
	t, err := domain.Decode[tail](line)
	switch {
	case err != nil:
		return err
	case t.End == nil:
		return domain.Invalidf("end: is missing; the head says that there are fewer records")
	case *t.End != want:
		return domain.Invalidf("end: is not the digest of the records; the file was damaged or changed" + anew)
	}
	return nil
}

// IsFile reports whether a text begins as Write or Compressed begins one.
func IsFile(text []byte) bool {
	return bytes.HasPrefix(text, plainMagic) || bytes.HasPrefix(text, zstdMagic)
}

// plainMagic begins what Write writes.
var plainMagic = []byte(`{"format":"` + Format)

// sessionMagic begins a saved session, which export writes too.
var sessionMagic = []byte(`{"schema_version":`)

// zstdMagic begins what is compressed.
var zstdMagic = []byte{0x28, 0xB5, 0x2F, 0xFD}

// gzipMagic begins what others compress.
var gzipMagic = []byte{0x1F, 0x8B}

func decompressed(r *bufio.Reader) (io.Reader, func(), error) {
	if start, _ := r.Peek(len(zstdMagic)); !bytes.Equal(start, zstdMagic) {
		return r, func() {}, nil
	}
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(maxWindow))
	if err != nil {
		return nil, nil, domain.Invalidf("cannot be decompressed: %s", err)
	}
	return z, z.Close, nil
}

// anew says what to do about a file that is not as it was written.
const anew = "; export it again, or copy it anew"

// A lineReader reads lines, so many bytes of them in all and of each at the most.
type lineReader struct {
	r    *bufio.Reader
	line int
	left int64
	most int
}

var (
	errNoHead = fmt.Errorf("is no head of a file of %s; give a file that export has written", Format)
	errEnds   = errors.New("is missing: the file ends before; it was cut off" + anew)
	errBytes  = fmt.Errorf("goes beyond %d bytes; export fewer executions at a time", int64(MaxBytes))
)

// next is the next line, with the error as much of it as was read.
func (l *lineReader) next() ([]byte, error) {
	l.line++
	var line []byte
	for {
		piece, err := l.r.ReadSlice('\n')
		line = append(line, piece...)
		if l.left -= int64(len(piece)); l.left < 0 {
			return line, errBytes
		}
		if len(line) > l.most {
			return line, domain.TooLargef("is longer than %d MiB, more than an execution may have", l.most>>20)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err == nil:
			return bytes.TrimSpace(line), nil
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return line, errEnds // the end of a line is part of it
		default:
			return line, err
		}
	}
}

// wrong names the line.
func (l *lineReader) wrong(err error) error {
	return wrong{domain.Invalidf("line %d: %s", l.line, err), err}
}

// A wrong is what is said of a file that cannot be read, and why that is so.
type wrong struct {
	said *domain.Error
	why  error
}

func (w wrong) Error() string   { return w.said.Message }
func (w wrong) Unwrap() []error { return []error{w.said, w.why} }
