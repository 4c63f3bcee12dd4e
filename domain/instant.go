package domain

import "time"

// utc returns the instant as it is kept and written: in UTC, with nanoseconds
// and without a monotonic reading, so that what is decoded equals what was
// encoded. The few instants that JSON can only write in another zone, at either
// end of its years, keep theirs.
func utc(t time.Time) time.Time {
	t = t.Round(0)
	if year := t.UTC().Year(); year < 0 || year > 9999 {
		return t
	}
	return t.UTC()
}

func utcPointer(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	return new(utc(*t))
}
