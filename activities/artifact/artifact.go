package artifact

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/contract"
)

// Name is the tool's.
const Name = "read_artifact"

// A Store keeps artifacts in a bucket. It is used by many at once. Nil keeps nothing.
type Store struct{ bucket *blob.Bucket }

// New returns the store of a bucket.
func New(bucket *blob.Bucket) *Store { return &Store{bucket} }

// Keep keeps what a tool call of the agent of ctx's place came to, under the call's id. A
// later attempt at the call takes the place of an earlier one.
func (s *Store) Keep(ctx context.Context, id domain.ToolExecutionID, text string) error {
	err := s.bucket.WriteAll(ctx, key(ctx, id.UUID), []byte(text), &blob.WriterOptions{ContentType: "text/plain; charset=utf-8"})
	if err != nil {
		return fmt.Errorf("keep artifact %s: %w", id, err)
	}
	return nil
}

// imageScheme begins what a message has of an image that is kept here. It is recorded.
const imageScheme = "artifact:"

// MaxImage is the longest image that is kept: no vendor takes much more.
const MaxImage = 3_500_000

// KeepImage keeps an image that a tool call of the agent of ctx's place shows, the one at an index of its parts, and
// returns the URL by which Image finds it. A later attempt at the call takes the place of an earlier one.
func (s *Store) KeepImage(ctx context.Context, id domain.ToolExecutionID, index int, image []byte) (url string, err error) {
	own := uuid.NewSHA1(id.UUID, fmt.Appendf(nil, "image/%d", index))
	if err := s.bucket.WriteAll(ctx, key(ctx, own), image, nil); err != nil {
		return "", fmt.Errorf("keep image %s: %w", own, err)
	}
	return imageScheme + own.String(), nil
}

// IsImage reports whether a URL is one of KeepImage.
func IsImage(url string) bool { return strings.HasPrefix(url, imageScheme) }

// Image is one that KeepImage has kept for the agent of ctx's place: those of others are not found.
func (s *Store) Image(ctx context.Context, url string) ([]byte, error) {
	id, err := uuid.Parse(strings.TrimPrefix(url, imageScheme))
	if err != nil || imageScheme+id.String() != url {
		return nil, fmt.Errorf("%q names no image that is kept", domain.Shorten(url, 64))
	}
	r, err := s.bucket.NewReader(ctx, key(ctx, id), nil)
	if err != nil {
		return nil, fmt.Errorf("read image %s: %w", id, err)
	}
	image, err := io.ReadAll(io.LimitReader(r, MaxImage+1))
	if err = cmp.Or(err, r.Close()); err == nil && len(image) > MaxImage {
		err = fmt.Errorf("it has more than %d bytes", MaxImage)
	}
	if err != nil {
		return nil, fmt.Errorf("read image %s: %w", id, err)
	}
	return image, nil
}

// key holds nothing that a model wrote but a UUID.
func key(ctx context.Context, id uuid.UUID) string {
	return Of(contract.PlaceOf(ctx).WorkflowID) + id.String()
}

// Of begins the names of all that is kept of an agent's workflow.
func Of(workflowID string) string { return fmt.Sprintf("artifacts/%s/", workflowID) }

const (
	// most bounds what is read at once, with room for the line above it.
	most = domain.MaxToolResult - 4<<10

	schema = `{"type":"object","additionalProperties":false,"required":["id"],"properties":{
		"id":{"type":"string","description":"as the shortened result names it"},
		"offset":{"type":"integer","minimum":0,"description":"the first byte wanted; 0 unless given"},
		"limit":{"type":"integer","minimum":1,"maximum":61440,"description":"how many bytes; as many as can be read at once unless given"}}}`
)

// Tool is read_artifact.
func (s *Store) Tool() tool.Tool {
	return tool.FromSpec(domain.ToolSpec{
		Name: Name, Effect: domain.ReadOnly, Schema: json.RawMessage(schema),
		Description: "Reads a part of a tool result that was too long to be shown whole: of the artifact that its shortened text names.",
	}, tool.Typed(s.read))
}

type args struct {
	ID     string `json:"id"`
	Offset int64  `json:"offset"`
	Limit  int64  `json:"limit"`
}

func (s *Store) read(ctx context.Context, given args) (tool.Result, error) {
	id, err := uuid.Parse(given.ID)
	if err != nil || id.String() != given.ID {
		return tool.Result{}, domain.Invalidf("id: %q is no artifact's; a shortened result names its own", domain.Shorten(given.ID, 64))
	}
	part, size, err := s.part(ctx, id, given.Offset, cmp.Or(given.Limit, most))
	switch {
	case gcerrors.Code(err) == gcerrors.NotFound:
		return tool.Result{}, domain.Invalidf("id: this agent has no artifact %s, or the storage has it no more", id)
	case err != nil:
		return tool.Result{}, &domain.Error{Kind: domain.Unavailable, Message: "the storage cannot be read just now", Detail: err.Error()}
	case given.Offset > size:
		return tool.Result{}, domain.Invalidf("offset: is %d, and the artifact has %d bytes", given.Offset, size)
	}
	end := given.Offset + int64(len(part))
	rest := "to its end"
	if end < size {
		rest = fmt.Sprintf("offset %d reads on", end)
	}
	return tool.Result{Content: fmt.Sprintf("[bytes %d to %d of %d; %s]\n%s", given.Offset, end, size, rest, strings.ToValidUTF8(part, "\uFFFD"))}, nil
}

// part reads bytes of a text, fewer than wanted where a character at the end would be cut. One may be cut at the beginning.
func (s *Store) part(ctx context.Context, id uuid.UUID, offset, limit int64) (part string, size int64, err error) {
	about, err := s.bucket.Attributes(ctx, key(ctx, id))
	if err != nil {
		return "", 0, err
	}
	if offset >= about.Size {
		return "", about.Size, nil
	}
	limit = max(limit, utf8.UTFMax) // at least one character
	r, err := s.bucket.NewRangeReader(ctx, key(ctx, id), offset, min(limit+utf8.UTFMax, about.Size-offset), nil)
	if err != nil {
		return "", 0, err
	}
	read, err := io.ReadAll(io.LimitReader(r, limit+utf8.UTFMax))
	return domain.Shorten(string(read), int(limit)), about.Size, cmp.Or(err, r.Close())
}
