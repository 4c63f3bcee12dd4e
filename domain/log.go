package domain

import (
	"slices"
	"sync/atomic"
)

// An Entry is one message of the transcript, with where it came from.
type Entry struct {
	// Index counts the agent's messages from 0, over all its executions.
	Index   int     `json:"index"`
	Section string  `json:"section,omitzero"`
	Message Message `json:"message"`
	// Digest is of the message's bytes as first recorded, and never recomputed: a new field cannot break it.
	Digest Digest `json:"digest"`
	// Chain is the digest of this entry and all before it.
	Chain Digest `json:"-"`

	// tagged is what the message's tags say, read once, when a log took it.
	tagged *tagged
}

// A tagged is what decides whether a message is shown.
type tagged struct {
	trace     bool
	execution ExecutionID
	// cutOff says that the message was cut off, silent that nothing of it is sent.
	cutOff, silent bool
}

func (e *Entry) tags() tagged {
	if e.tagged != nil {
		return *e.tagged
	}
	cutOff := isSet(e.Message, keyIsCutOff) && len(e.Message.ToolCalls) == 0
	return tagged{trace: isSet(e.Message, keyIsTrace), execution: ExecutionID{e.Message.Metadata.id(keyExecutionID)}, cutOff: cutOff, silent: e.Message.silent(cutOff)}
}

// Size is about how many bytes the entry takes, in memory and encoded.
func (e Entry) Size() int { return 56 + e.Message.Size() }

// A Log is the transcript of an agent: entries that are only ever appended. Those before its base have
// left memory for segments; the chain of digests still vouches for them. It is a value; zero is empty.
type Log struct {
	base    int
	before  Digest
	entries []Entry
	// taken is how much of the room behind entries is in use by any log that shares it.
	taken *atomic.Int64
}

// LogAt returns an empty log whose first n entries are elsewhere, with the digest of their chain.
func LogAt(n int, chain Digest) Log { return Log{base: n, before: chain} }

// A LogRef names a log's content: how long it is, and its chain's digest.
type LogRef struct {
	Length int    `json:"length"`
	Digest Digest `json:"digest"`
}

// Append returns the log with one more entry, whose index and chain it sets.
func (l Log) Append(section string, m Message, digest Digest) Log {
	e := Entry{Index: l.Len(), Section: section, Message: m, Digest: digest}
	return l.join(e)
}

// Join returns the log with entries that were recorded elsewhere. It fails where they do not follow on.
func (l Log) Join(entries ...Entry) (Log, error) {
	for _, e := range entries {
		if e.Index != l.Len() {
			return l, CodedErrorf(Internal, CodeContextLost, "transcript: message %d follows message %d", e.Index, l.Len()-1)
		}
		l = l.join(e)
	}
	return l, nil
}

// join extends the entries in place where no other log shares the room behind them: n entries cost n
// appends and not n copies. The second log that is appended to the same one finds it taken, and copies.
func (l Log) join(e Entry) Log {
	before := l.Chain()
	e.Chain = DigestOf(before[:], e.Digest[:], []byte(e.Section))
	tags := e.tags()
	e.tagged = &tags
	n := len(l.entries)
	if n < cap(l.entries) && l.taken.CompareAndSwap(int64(n), int64(n+1)) {
		l.entries = append(l.entries, e)
		return l
	}
	room := make([]Entry, n+1, n+n/2+8)
	copy(room, l.entries)
	room[n] = e
	l.entries, l.taken = room, new(atomic.Int64)
	l.taken.Store(int64(n + 1))
	return l
}

// Len is the number of entries, those before the base included.
func (l Log) Len() int { return l.base + len(l.entries) }

// Base is the index of the first entry that the log holds.
func (l Log) Base() int { return l.base }

// Chain is the digest of all entries.
func (l Log) Chain() Digest {
	if len(l.entries) == 0 {
		return l.before
	}
	return l.entries[len(l.entries)-1].Chain
}

// Ref names the log as it is now.
func (l Log) Ref() LogRef { return LogRef{Length: l.Len(), Digest: l.Chain()} }

// ChainAt is the digest of the first n entries, where the log can tell.
func (l Log) ChainAt(n int) (Digest, bool) {
	switch {
	case n == l.base:
		return l.before, true
	case n < l.base || n > l.Len():
		return Digest{}, false
	}
	return l.entries[n-l.base-1].Chain, true
}

// Entries returns the entries that the log holds. The caller must not change them.
func (l Log) Entries() []Entry { return slices.Clip(l.entries) }

// From returns the entries from an index on that the log holds. The caller must not change them.
func (l Log) From(index int) []Entry {
	return slices.Clip(l.entries[min(max(index-l.base, 0), len(l.entries)):])
}

// Upto returns the log as it was when it had n entries, where it still holds them.
func (l Log) Upto(n int) (Log, bool) {
	if n < l.base || n > l.Len() {
		return Log{}, false
	}
	l.entries = slices.Clip(l.entries[:n-l.base])
	l.taken = nil
	return l, true
}

// At finds an entry by index.
func (l Log) At(index int) (Entry, bool) {
	if index < l.base || index >= l.Len() {
		return Entry{}, false
	}
	return l.entries[index-l.base], true
}

// Size is about how many bytes the held entries take.
func (l Log) Size() int {
	n := 0
	for _, e := range l.entries {
		n += e.Size()
	}
	return n
}

// sharing returns a message that shares the memory of an equal one among the log's newest entries, where there is one.
func (l Log) sharing(m Message, newest int) Message {
	for _, e := range l.entries[max(len(l.entries)-newest, 0):] {
		if e.Message.ID == m.ID && m.Equal(e.Message) {
			m.Parts, m.ToolCalls, m.ToolResult, m.Metadata = e.Message.Parts, e.Message.ToolCalls, e.Message.ToolResult, e.Message.Metadata
			return m
		}
	}
	return m
}
