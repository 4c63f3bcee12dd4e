package client

import (
	"context"
	"iter"

	"everstep/domain"
)

// entries yields what one run holds of the transcript from an index on, by
// pages, to the end that it had when it was first asked. An error ends it.
func (c *Client) entries(ctx context.Context, s snapshot, runID string, from int) iter.Seq2[domain.Entry, error] {
	return func(yield func(domain.Entry, error) bool) {
		length := -1
		for next := from; length < 0 || next < length; {
			page, err := read(ctx, c, s, runID, domain.QueryMessages, domain.MessagesRequest{From: next})
			if err != nil {
				yield(domain.Entry{}, err)
				return
			}
			if length < 0 {
				length = page.Length
			}
			before := next
			for _, entry := range page.Entries {
				if entry.Index < next || entry.Index >= length {
					continue
				}
				next = entry.Index + 1
				if !yield(entry, nil) {
					return
				}
			}
			if next == before {
				return
			}
		}
	}
}
