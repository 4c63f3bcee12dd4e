package transcript

import (
	"container/list"
	"reflect"
	"slices"
	"sync"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
)

// DefaultCacheBytes is how much a cache holds unless told otherwise.
const DefaultCacheBytes = 256 << 20

// A Cache keeps the transcripts of the agents whose activities this worker runs, the least recently
// used leaving first. It is fed by workflows and by a Source, and is never read by a workflow.
// Agents are told apart by workflow id. That a name was used again shows in the digests, since
// the first message's id follows from the chain of runs. Safe for concurrent use.
type Cache struct {
	max int64

	mu    sync.Mutex
	size  int64
	items map[string]*list.Element
	order *list.List
	// told are the accounts that workflows have handed to the activities that record them, one of each, the newest last.
	told []toldAccount
}

// maxTold bounds the accounts that no activity of this worker has taken: another worker's has.
const maxTold = 64

type toldAccount struct {
	run     workflow.Execution
	request account.Request
	page    account.Page
}

type item struct {
	agent    string
	log      domain.Log
	resolved contract.Resolved
	compiled domain.Compiled
	size     int64
}

// NewCache returns an empty cache of entries of about maxBytes. Zero is DefaultCacheBytes.
func NewCache(maxBytes int64) *Cache {
	if maxBytes <= 0 {
		maxBytes = DefaultCacheBytes
	}
	return &Cache{max: maxBytes, items: make(map[string]*list.Element), order: list.New()}
}

// Feed adds what a workflow holds of an agent's transcript, and the definition
// in force. A log that continues the cached one extends it; any other replaces
// it. A definition without a digest leaves the cached one as it was. A
// transcript that alone exceeds the cache is not kept.
func (c *Cache) Feed(agent string, log domain.Log, resolved contract.Resolved) {
	c.mu.Lock()
	defer c.mu.Unlock()
	held := c.items[agent]
	if held == nil {
		held = c.order.PushFront(&item{agent: agent, log: log, resolved: resolved, size: sizeOf(log, resolved)})
		c.items[agent] = held
	} else {
		it := held.Value.(*item)
		c.size -= it.size
		*it = it.fed(log, resolved)
		c.order.MoveToFront(held)
	}
	c.size += held.Value.(*item).size
	for c.size > c.max {
		c.remove(c.order.Back())
	}
}

// Find returns what is cached of an agent, and marks it as used.
func (c *Cache) Find(agent string) (domain.Log, contract.Resolved, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	held := c.items[agent]
	if held == nil {
		return domain.Log{}, contract.Resolved{}, false
	}
	c.order.MoveToFront(held)
	it := held.Value.(*item)
	return it.log, it.resolved, true
}

// SwapCompiled keeps what was compiled of an agent's transcript for its newest inference, for as long as the transcript is kept, and
// returns what was kept before.
func (c *Cache) SwapCompiled(agent string, compiled domain.Compiled) (before domain.Compiled) {
	c.mu.Lock()
	defer c.mu.Unlock()
	held := c.items[agent]
	if held == nil {
		return before
	}
	it := held.Value.(*item)
	before, it.compiled = it.compiled, compiled
	grown := int64(compiled.Size() - before.Size())
	it.size += grown
	c.size += grown
	for c.size > c.max {
		c.remove(c.order.Back())
	}
	return before
}

// FeedAccount hands what a run holds, as it answers a request, to the activity that is going to ask for it. It takes the place of
// what the workflow has handed over before and nobody here has taken: that is of an earlier time.
func (c *Cache) FeedAccount(run workflow.Execution, request account.Request, page account.Page) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told = append(slices.DeleteFunc(c.told, func(one toldAccount) bool { return one.run.ID == run.ID }), toldAccount{run, request, page})
	if more := len(c.told) - maxTold; more > 0 {
		c.told = slices.Delete(c.told, 0, more)
	}
}

// takeAccount returns what a run has handed over for a request. It is there once: whoever asks again asks the workflow.
func (c *Cache) takeAccount(run workflow.Execution, request account.Request) (account.Page, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := slices.IndexFunc(c.told, func(one toldAccount) bool { return one.run == run && reflect.DeepEqual(one.request, request) })
	if at < 0 {
		return account.Page{}, false
	}
	page := c.told[at].page
	c.told = slices.Delete(c.told, at, at+1)
	return page, true
}

// Drop forgets an agent.
func (c *Cache) Drop(agent string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if held := c.items[agent]; held != nil {
		c.remove(held)
	}
}

// Clear forgets everything; only speed depends on it.
func (c *Cache) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.items, c.size, c.told = make(map[string]*list.Element), 0, nil
	c.order.Init()
}

// Size is about how many bytes it holds.
func (c *Cache) Size() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.size
}

func (c *Cache) remove(held *list.Element) {
	it := c.order.Remove(held).(*item)
	delete(c.items, it.agent)
	c.size -= it.size
}

// fed counts only what is new where the log just grew, so that a long one costs no more.
func (it item) fed(log domain.Log, resolved contract.Resolved) item {
	next := it
	next.log = merge(it.log, log)
	if !resolved.Digest.IsZero() {
		next.resolved = resolved
	}
	if next.resolved.Digest == it.resolved.Digest && next.log.Base() == it.log.Base() && has(next.log, it.log.Ref()) {
		for _, e := range next.log.From(it.log.Len()) {
			next.size += int64(e.Size())
		}
		return next
	}
	next.size = sizeOf(next.log, next.resolved) + int64(next.compiled.Size())
	return next
}

// merge returns all that came, and of what was held whatever the digests allow.
func merge(held, came domain.Log) domain.Log {
	if held.Base() <= came.Base() && has(held, came.Ref()) {
		return held
	}
	if came.Base() <= held.Base() {
		longer, _ := extended(came, held)
		return longer
	}
	// As much of what is held as there is, so that it grows and is not copied.
	for _, n := range []int{held.Len(), came.Base()} {
		head, _ := prefix(held, n)
		if joined, ok := extended(head, came); ok {
			return joined
		}
	}
	return came
}

func has(log domain.Log, ref domain.LogRef) bool {
	at, ok := log.ChainAt(ref.Length)
	return ok && at == ref.Digest
}

// extended is a log with what another holds after it, where that follows on.
func extended(log, by domain.Log) (domain.Log, bool) {
	if !has(by, log.Ref()) {
		return log, false
	}
	longer, err := log.Join(by.From(log.Len())...)
	return longer, err == nil
}

// prefix returns a whole log as it is, so that it can grow without being copied.
func prefix(log domain.Log, n int) (domain.Log, bool) {
	if n == log.Len() {
		return log, true
	}
	return log.Upto(n)
}

func sizeOf(log domain.Log, resolved contract.Resolved) int64 {
	n := int64(log.Size()) + int64(len(resolved.Definition.SystemPrompt)+len(resolved.Definition.Format.Schema)) + 512
	for _, tool := range resolved.Tools {
		n += int64(len(tool.Description)+len(tool.Schema)) + 128
	}
	return n
}
