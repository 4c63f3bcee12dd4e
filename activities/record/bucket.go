package record

import (
	"context"
	"errors"
	"io"
	"strings"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
)

// within is where the records stand in a bucket that may hold other things too.
const within = "records/"

// A bucket keeps objects in one of gocloud.dev/blob, where an object is visible whole or not at all.
type bucket struct{ *blob.Bucket }

// InBucket is the store in a bucket, which is closed with it. The name is for people.
func InBucket(b *blob.Bucket, name string) *Store { return storeIn(bucket{b}, name) }

func (b bucket) write(ctx context.Context, key string, object []byte, over overwrite) (bool, error) {
	err := b.WriteAll(ctx, within+key, object, &blob.WriterOptions{ContentType: "application/zstd", IfNotExist: over == creates})
	if over == creates && gcerrors.Code(err) == gcerrors.FailedPrecondition {
		return false, nil
	}
	return err == nil, err
}

func (b bucket) read(ctx context.Context, key string) ([]byte, error) {
	r, err := b.NewReader(ctx, within+key, nil)
	if gcerrors.Code(err) == gcerrors.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	object, err := io.ReadAll(io.LimitReader(r, maxObject))
	return object, errors.Join(err, r.Close())
}

func (b bucket) list(ctx context.Context, folder string) (names []string, err error) {
	prefix := within + folder + "/"
	all, failed := b.List(&blob.ListOptions{Prefix: prefix}).All(ctx)
	for object := range all {
		names = append(names, strings.TrimPrefix(object.Key, prefix))
	}
	return names, failed()
}

func (b bucket) folders(ctx context.Context) (names []string, err error) {
	all, failed := b.List(&blob.ListOptions{Prefix: within, Delimiter: "/"}).All(ctx)
	for object := range all {
		if object.IsDir {
			names = append(names, strings.TrimSuffix(strings.TrimPrefix(object.Key, within), "/"))
		}
	}
	return names, failed()
}

func (b bucket) remove(ctx context.Context, folder string) error {
	names, err := b.list(ctx, folder)
	for _, name := range names {
		err = errors.Join(err, b.removeOne(ctx, folder+"/"+name))
	}
	return err
}

func (b bucket) removeOne(ctx context.Context, key string) error {
	if err := b.Delete(ctx, within+key); gcerrors.Code(err) != gcerrors.NotFound {
		return err
	}
	return nil
}

func (b bucket) close() error { return b.Close() }
