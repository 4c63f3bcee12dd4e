package transcript

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
)

// history knows every message that was ever said, by the digest of the chain
// that ends with it.
type history struct {
	said map[domain.Digest]string
	logs []domain.Log
}

func (h *history) say(rt *rapid.T) {
	which := rapid.IntRange(0, len(h.logs)-1).Draw(rt, "which")
	log := h.logs[which]
	if fork := rapid.IntRange(0, 3).Draw(rt, "fork") == 0; fork {
		log, _ = log.Upto(rapid.IntRange(log.Base(), log.Len()).Draw(rt, "at"))
		h.logs = append(h.logs, log)
		which = len(h.logs) - 1
	}
	text := fmt.Sprintf("%d, %s", len(h.said), rapid.StringN(0, 50, -1).Draw(rt, "text"))
	log = say(log, text)
	h.logs[which], h.said[log.Chain()] = log, text
}

// feed is what a workflow may hold of one of the logs: a part of it.
func (h *history) feed(rt *rapid.T) domain.Log {
	log := rapid.SampledFrom(h.logs).Draw(rt, "log")
	n := rapid.IntRange(0, log.Len()).Draw(rt, "length")
	base := rapid.IntRange(0, n).Draw(rt, "base")
	if base == 0 && n == log.Len() {
		return log
	}
	return partOf(rt, log, base, n)
}

// TestWhatIsToldIsTheNewest: what a workflow has handed over in vain, as another worker has asked for it, is not taken for what it
// hands over later.
func TestWhatIsToldIsTheNewest(t *testing.T) {
	t.Parallel()
	cache := NewCache(0)
	request := Wants(contract.RecordRequest{Moved: &contract.Move{}})
	for revision := range 3 {
		cache.FeedAccount(testRun, request, account.Page{PageEnd: account.PageEnd{Revision: domain.DigestOfTexts(fmt.Sprint(revision))}})
	}
	page, ok := cache.takeAccount(testRun, request)
	require.True(t, ok)
	require.Equal(t, domain.DigestOfTexts("2"), page.Revision)
	_, ok = cache.takeAccount(testRun, request)
	require.False(t, ok, "whoever asks again asks the workflow")
}

func TestCacheLaws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		h := &history{said: make(map[domain.Digest]string), logs: []domain.Log{{}}}
		most := rapid.SampledFrom([]int64{1, 3000, 20_000, 1 << 30}).Draw(rt, "bytes")
		cache := NewCache(most)
		rt.Repeat(map[string]func(*rapid.T){
			"say": h.say,
			"feed": func(rt *rapid.T) {
				agent := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "agent")
				log := h.feed(rt)
				earlier, _, had := cache.Find(agent)
				cache.Feed(agent, log, contract.Resolved{})
				held, _, ok := cache.Find(agent)
				if !ok {
					require.Less(rt, most, int64(1<<30), "only what exceeds the cache is not kept")
					return
				}
				at, known := held.ChainAt(log.Len())
				require.True(rt, known && at == log.Chain(), "it holds what it was fed with")
				require.LessOrEqual(rt, held.Base(), log.Base())
				if before, _ := log.ChainAt(log.Base()); had {
					if at, known := earlier.ChainAt(log.Base()); known && at == before {
						require.LessOrEqual(rt, held.Base(), earlier.Base(), "a log that continues another extends it")
					}
				}
				if at, known := earlier.ChainAt(log.Len()); had && known && at == log.Chain() {
					require.GreaterOrEqual(rt, held.Len(), earlier.Len(), "a part of what is held takes nothing away")
				}
			},
			"": func(rt *rapid.T) {
				require.LessOrEqual(rt, cache.size, most)
				total := int64(0)
				for _, agent := range []string{"a", "b", "c"} {
					log, resolved, ok := cache.Find(agent)
					if !ok {
						continue
					}
					total += sizeOf(log, resolved)
					for i, e := range log.Entries() {
						require.Equal(rt, log.Base()+i, e.Index)
						require.Equal(rt, h.said[e.Chain], e.Message.Text())
					}
				}
				require.Equal(rt, total, cache.size, "the size is that of what is held")
			},
		})
	})
}

func TestCacheForgetsTheLeastRecentlyUsed(t *testing.T) {
	t.Parallel()
	log := conversation(10, 10, "")
	one := sizeOf(log, contract.Resolved{})
	cache := NewCache(3 * one)
	for _, agent := range []string{"a", "b", "c"} {
		cache.Feed(agent, log, contract.Resolved{})
	}
	_, _, ok := cache.Find("a")
	require.True(t, ok)
	cache.Feed("d", log, contract.Resolved{})
	_, _, ok = cache.Find("b")
	require.False(t, ok, "b was used longest ago")
	for _, agent := range []string{"a", "c", "d"} {
		_, _, ok = cache.Find(agent)
		require.True(t, ok, agent)
	}
	cache.Drop("a")
	require.Equal(t, 2*one, cache.size)
	cache.Clear()
	require.Zero(t, cache.size)
}

func TestCacheKeepsTheDefinition(t *testing.T) {
	t.Parallel()
	cache := NewCache(0)
	first := contract.Resolved{Digest: domain.DigestOf([]byte("first"))}
	second := contract.Resolved{Digest: domain.DigestOf([]byte("second"))}
	cache.Feed("a", conversation(2, 2, ""), first)
	cache.Feed("a", conversation(3, 3, ""), contract.Resolved{})
	_, resolved, _ := cache.Find("a")
	require.Equal(t, first, resolved)
	cache.Feed("a", conversation(3, 3, ""), second)
	_, resolved, _ = cache.Find("a")
	require.Equal(t, second, resolved)

	long := contract.Resolved{Digest: domain.DigestOf([]byte("long")), Definition: domain.Definition{SystemPrompt: strings.Repeat("p", 1000)}}
	cache.Feed("a", conversation(4, 4, ""), long)
	require.Equal(t, sizeOf(conversation(4, 4, ""), long), cache.size, "it takes room in the place of the one before")
}

// TestCacheCountsDefinitions: prompts, schemas and tools take room as messages do.
func TestCacheCountsDefinitions(t *testing.T) {
	t.Parallel()
	bare := sizeOf(domain.Log{}, contract.Resolved{})
	require.Positive(t, bare)
	full := sizeOf(domain.Log{}, contract.Resolved{
		Definition: domain.Definition{SystemPrompt: strings.Repeat("p", 1000), Format: domain.ResponseFormat{Schema: make([]byte, 100)}},
		Tools:      []domain.ToolSpec{{Description: strings.Repeat("d", 1000), Schema: make([]byte, 100)}},
	})
	require.GreaterOrEqual(t, full, bare+2200)
}

func BenchmarkFeed(b *testing.B) {
	for _, n := range []int{100, 2000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			cache, log := NewCache(0), conversation(n, n, "")
			for b.Loop() {
				cache.Feed("a", log, contract.Resolved{})
			}
		})
	}
}

// TestWhatIsCompiledCounts in the cache as long as it is there, for one who takes it at a time.
func TestWhatIsCompiledCounts(t *testing.T) {
	t.Parallel()
	cache, log := NewCache(0), conversation(100, 100, "")
	own := func(messages []domain.Message) []domain.Message { return messages }
	compiled := domain.Compiled{}.Extend("model", log.Entries(), domain.Edits{}, own)
	cache.SwapCompiled("unknown", compiled)
	require.Zero(t, cache.Size())
	cache.Feed("ann", log, contract.Resolved{})
	before := cache.Size()
	cache.SwapCompiled("ann", compiled)
	require.Equal(t, before+int64(compiled.Size()), cache.Size())
	require.Len(t, cache.SwapCompiled("ann", domain.Compiled{}).Messages(), 100)
	require.Equal(t, before, cache.Size())
	require.Empty(t, cache.SwapCompiled("ann", domain.Compiled{}).Messages(), "somebody has it")
	cache.SwapCompiled("ann", compiled)
	cache.Feed("ann", conversation(50, 0, "other"), contract.Resolved{})
	cache.Drop("ann")
	require.Zero(t, cache.Size())
	small := NewCache(before + 1)
	small.Feed("ann", log, contract.Resolved{})
	small.SwapCompiled("ann", compiled)
	require.Zero(t, small.Size(), "it does not fit")
}
