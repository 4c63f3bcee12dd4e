package record

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
)

// within is where the records stand in a bucket that may hold other things too.
const within = "records/"

// A bucket keeps objects in one of gocloud.dev/blob, where an object is visible whole or not at all.
type bucket struct{ *blob.Bucket }

// InBucket is the store in a bucket, which is closed with it. The name is for people.
func InBucket(b *blob.Bucket, name string) *Store { return &Store{bucket{b}, name} }

func (b bucket) write(ctx context.Context, key string, object []byte, over overwrite) error {
	err := b.WriteAll(ctx, within+key, object, &blob.WriterOptions{ContentType: "application/zstd", IfNotExist: over == creates})
	if over == creates && gcerrors.Code(err) == gcerrors.FailedPrecondition {
		return fs.ErrExist
	}
	return err
}

func (b bucket) read(ctx context.Context, key string) ([]byte, error) {
	r, err := b.NewReader(ctx, within+key, nil)
	if gcerrors.Code(err) == gcerrors.NotFound {
		return nil, fs.ErrNotExist
	}
	if err != nil {
		return nil, err
	}
	object, err := io.ReadAll(io.LimitReader(r, maxObject))
	return object, errors.Join(err, r.Close())
}

func (b bucket) list(ctx context.Context, folder string) (names []string, err error) {
	prefix := within + folder + "/"
	err = b.each(ctx, &blob.ListOptions{Prefix: prefix}, func(object *blob.ListObject) {
		names = append(names, strings.TrimPrefix(object.Key, prefix))
	})
	return names, err
}

func (b bucket) folders(ctx context.Context) (names []string, err error) {
	err = b.each(ctx, &blob.ListOptions{Prefix: within, Delimiter: "/"}, func(object *blob.ListObject) {
		if object.IsDir {
			names = append(names, strings.TrimSuffix(strings.TrimPrefix(object.Key, within), "/"))
		}
	})
	return names, err
}

// each takes what a bucket lists, up to its end or an error.
func (b bucket) each(ctx context.Context, o *blob.ListOptions, take func(*blob.ListObject)) error {
	for all := b.List(o); ; {
		object, err := all.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		take(object)
	}
}

func (b bucket) remove(ctx context.Context, key string) error {
	names, err := b.list(ctx, key)
	for _, name := range append(names, "") {
		if failed := b.Delete(ctx, within+strings.TrimSuffix(key+"/"+name, "/")); gcerrors.Code(failed) != gcerrors.NotFound {
			err = errors.Join(err, failed)
		}
	}
	return err
}

func (b bucket) close() error { return b.Close() }
