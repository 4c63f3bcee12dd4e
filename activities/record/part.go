package record

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/google/uuid"
	"github.com/klauspost/compress/zstd"

	"everstep/domain"
)

// A Part are steps and events of an execution in progress, as the run told them that another one continues: that run may be deleted
// before the execution ends.
type Part struct {
	Ref
	RunID  string                 `json:"run_id"`
	Steps  []domain.StepExecution `json:"steps"`
	Events []domain.Event         `json:"events,omitempty"`
}

// A keptPart is what an object of a part holds. The digest is of the bytes of the part as they stand.
type keptPart struct {
	Digest domain.Digest   `json:"digest"`
	Part   json.RawMessage `json:"part"`
}

func partsFolder(r Ref) string { return folder(r.AgentID) + "/parts/" + r.ExecutionID.String() }

const partExtension = ".part.zst"

// RecordPart keeps a part, in place of one of the same run. It may be done again.
func (s *Store) RecordPart(ctx context.Context, p Part) error {
	if err := uuid.Validate(p.RunID); err != nil || len(p.Steps) == 0 {
		return domain.Errorf(domain.Internal, "record: a part of execution %d has %d steps of run %q", p.Number, len(p.Steps), p.RunID)
	}
	text, err := json.Marshal(p)
	if err != nil {
		return domain.Errorf(domain.Internal, "record: a part of execution %d: %s", p.Number, err)
	}
	whole, err := json.Marshal(keptPart{domain.DigestOf(text), text})
	if err != nil {
		return domain.Errorf(domain.Internal, "record: a part of execution %d: %s", p.Number, err)
	}
	if len(whole) > MaxRecord {
		return domain.Errorf(domain.TooLarge, "record: a part of execution %d has %d MiB; no more than %d are recorded", p.Number, len(whole)>>20, MaxRecord>>20)
	}
	var object bytes.Buffer
	z, err := zstd.NewWriter(&object, zstd.WithEncoderConcurrency(1))
	if err == nil {
		_, err = z.Write(whole)
		err = errors.Join(err, z.Close())
	}
	if err != nil {
		return domain.Errorf(domain.Internal, "record: a part of execution %d: %s", p.Number, err)
	}
	key := fmt.Sprintf("%s/%s%s", partsFolder(p.Ref), p.RunID, partExtension)
	return s.failed(ctx, "write", key, s.objects.write(ctx, key, object.Bytes(), replaces))
}

// Parts are those of an execution that are whole, in no order. One that is damaged is as good as missing.
func (s *Store) Parts(ctx context.Context, r Ref) (all []Part, _ error) {
	names, err := s.objects.list(ctx, partsFolder(r))
	if err != nil {
		return nil, s.failed(ctx, "list", partsFolder(r), err)
	}
	for _, name := range names {
		if run, ok := strings.CutSuffix(name, partExtension); !ok || uuid.Validate(run) != nil {
			continue
		}
		object, err := s.objects.read(ctx, partsFolder(r)+"/"+name)
		if err != nil {
			return nil, s.failed(ctx, "read", partsFolder(r)+"/"+name, err)
		}
		if p, err := readPart(object); err == nil && p.Ref == r {
			all = append(all, p)
		}
	}
	return all, nil
}

func readPart(object []byte) (p Part, _ error) {
	plain, done, err := decompressed(bufio.NewReader(bytes.NewReader(object)))
	if err != nil {
		return p, err
	}
	defer done()
	text, err := io.ReadAll(io.LimitReader(plain, MaxRecord))
	if err != nil {
		return p, err
	}
	kept, err := domain.Decode[keptPart](text)
	if err == nil && domain.DigestOf(kept.Part) != kept.Digest {
		err = errors.New("digest: is not that of the part")
	}
	if err != nil {
		return p, err
	}
	return domain.Decode[Part](kept.Part)
}

// ForgetParts deletes those of an execution, which the record of the whole takes the place of.
func (s *Store) ForgetParts(ctx context.Context, r Ref) error {
	return s.failed(ctx, "delete", partsFolder(r), s.objects.remove(ctx, partsFolder(r)))
}
