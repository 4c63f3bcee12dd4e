package providers

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/domain"
)

const (
	// largeBody is the size of bodies that end.
	largeBody = 100 << 20
	// maxGrowth bounds what the process's memory may grow by meanwhile, garbage
	// that is not yet collected and the server itself included.
	maxGrowth = 64 << 20
)

// A flood is what a server sends: something, then a piece over and over until
// it has sent so many bytes, or for ever where that is zero, then an end.
type flood struct {
	head, piece, end string
	size             int
	// most bounds a response; zero is the provider's own bound, and what takes
	// long gets a lower one.
	most int64
	// packed means that it is sent as gzip, which makes it a thousandth.
	packed bool
}

// testFloods sends answers without end, and such of 100 MB, and looks at what
// they cost. It measures the memory of the process, so nothing may run beside it:
// its test is not parallel.
func (c Case) testFloods(t *testing.T) {
	t.Helper()
	// Garbage is collected soon, so that what is measured is what is kept.
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	answer := c.Text("hello")
	long := c.Text("hello" + strings.Repeat("x", 200))
	before, text := split(long.Open, "hello")
	beforeCall, pieceOfCall := split(c.Calls, "city")
	comment := ":" + strings.Repeat(" wait", 200) + "\n\n"
	for name, test := range map[string]struct {
		flood
		// whole means that there is an answer all the same.
		whole bool
	}{
		"text without end":             {flood: flood{head: before, piece: text}},
		"arguments without end":        {flood: flood{head: beforeCall, piece: pieceOfCall, most: 8 << 20}},
		"comments without end":         {flood: flood{piece: comment, most: 8 << 20}},
		"comments after a beginning":   {flood: flood{head: answer.Open, piece: comment, most: 8 << 20}},
		"empty lines without end":      {flood: flood{head: answer.Open, piece: strings.Repeat("\n", 1000), most: 8 << 20}},
		"white space without end":      {flood: flood{piece: strings.Repeat(" \r\n", 300), most: 8 << 20}},
		"a comment without end":        {flood: flood{head: ":", piece: strings.Repeat("x", 1000)}},
		"an event without end":         {flood: flood{head: "data: ", piece: strings.Repeat("x", 1000)}},
		"lines of data without end":    {flood: flood{head: before, piece: "data: [1,2,3,4,5,6,7,8,9]\n"}},
		"a string without end":         {flood: flood{head: `{"choices":"`, piece: strings.Repeat("x", 1000)}},
		"lists in lists without end":   {flood: flood{piece: strings.Repeat("[", 1000)}},
		"a page without end":           {flood: flood{head: "<html>", piece: "<p>sign in</p>"}},
		"packed":                       {flood: flood{head: before + `data: {"x":"`, piece: strings.Repeat("x", 1000), packed: true}},
		"100 MB of comments":           {flood: flood{piece: comment, size: largeBody, end: answer.whole()}, whole: true},
		"100 MB of unknown events":     {flood: flood{head: before, piece: "event: sparkle\ndata: {\"sparkle\":\"" + strings.Repeat("x", 1000) + "\"}\n\n", size: largeBody, end: text}},
		"an event of 100 MB":           {flood: flood{head: before + `data: {"x":"`, piece: strings.Repeat("x", 1000), size: largeBody, end: "\"}\n\n" + text + answer.End}},
		"an answer of 100 MB":          {flood: flood{head: `{"x":"`, piece: strings.Repeat("x", 1000), size: largeBody, end: `"}`}},
		"events that nobody announced": {flood: flood{piece: text}},
	} {
		t.Run(name, func(t *testing.T) {
			before := settled()
			o, peak := c.drown(t, http.StatusOK, test.flood)
			require.Less(t, peak-min(before, peak), uint64(maxGrowth), "it keeps what it reads")
			if test.whole {
				require.Nil(t, o.Err)
				hello(t, o)
				return
			}
			require.NotNil(t, o.Err)
			require.True(t, o.Err.Billed)
			require.Contains(t, []domain.Kind{domain.TooLarge, domain.Unavailable}, o.Err.Kind, o.Err.Message)
			if test.size == 0 && o.Err.Kind != domain.TooLarge {
				require.Equal(t, domain.CodeMalformed, o.Err.Code, o.Err.Message)
			}
		})
	}
	t.Run("an error without end", func(t *testing.T) {
		for _, status := range []int{http.StatusBadRequest, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusFound, http.StatusAccepted} {
			before := settled()
			o, peak := c.drown(t, status, flood{head: `{"error":{"message":"`, piece: "no "})
			require.Less(t, peak-min(before, peak), uint64(maxGrowth))
			require.NotNil(t, o.Err)
			require.Less(t, len(o.Err.Message)+len(o.Err.Detail), 4<<10)
		}
	})
	t.Run("a header without end", func(t *testing.T) { c.testEndlessHeader(t) })
}

// settled is the memory in use once garbage is gone.
func settled() uint64 {
	runtime.GC()
	return inUse()
}

func inUse() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// drown asks a server that floods, and returns the most memory that was in use
// meanwhile.
func (c Case) drown(t *testing.T, status int, f flood) (o Outcome, peak uint64) {
	t.Helper()
	gone := make(chan struct{})
	block := strings.Repeat(f.piece, 1+(64<<10)/len(f.piece))
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ string) {
		defer close(gone)
		w.Header().Set("Content-Type", mediaType(f.head+f.piece))
		if f.packed {
			w.Header().Set("Content-Encoding", "gzip")
		}
		w.WriteHeader(status)
		var out io.Writer = w
		if f.packed {
			out = gzip.NewWriter(w)
		}
		_, err := io.WriteString(out, f.head)
		for sent := 0; err == nil && (f.size == 0 || sent < f.size); sent += len(block) {
			if sent>>20 != (sent+len(block))>>20 {
				peak = max(peak, inUse())
			}
			_, err = io.WriteString(out, block)
		}
		if err == nil {
			_, _ = io.WriteString(out, f.end)
		}
	})
	o = c.overhear(t, s, f)
	await(t, gone)
	return o, max(peak, inUse())
}

// overhear asks once and keeps nothing of what is told meanwhile.
func (c Case) overhear(t *testing.T, s *server, f flood) (o Outcome) {
	t.Helper()
	config := wire.Config{BaseURL: s.URL, Key: wire.FixedKey(Key), MaxBody: f.most}
	var err error
	o.Answer, err = c.opened(t, config).Infer(t.Context(), c.call("hello"), func(inference.Delta) {})
	require.Len(t, s.asked(), 1)
	if err != nil {
		o.Err = domain.AsError(err)
		require.Equal(t, c.API.Name, o.Err.Source)
		require.Empty(t, o.Answer.Message.ToolCalls)
	}
	return o
}

// testEndlessHeader: a response that never begins.
func (c Case) testEndlessHeader(t *testing.T) {
	t.Helper()
	for name, first := range map[string]string{"fields": "HTTP/1.1 200 OK\r\n", "a field": "HTTP/1.1 200 OK\r\nX-Long: ", "a status": "HTTP/1.1 200 "} {
		before := settled()
		line := strings.Repeat("x", 1000)
		if name == "fields" {
			line = "X-" + line[:500] + ": " + line + "\r\n"
		}
		gone := make(chan struct{})
		s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ string) {
			defer close(gone)
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			defer conn.Close()
			for _, err = io.WriteString(conn, first); err == nil; {
				_, err = io.WriteString(conn, line)
			}
		})
		o := c.ask(t, s)
		await(t, gone)
		require.NotNil(t, o.Err, name)
		require.Equal(t, domain.Unavailable, o.Err.Kind, name)
		require.True(t, o.Err.Billed, name)
		require.Less(t, inUse()-min(before, inUse()), uint64(maxGrowth), name)
	}
}

// split parts a stream at its first event with a text: what comes before it, and
// that event.
func split(stream, text string) (before, event string) {
	start := 0
	for _, at := range boundary.FindAllStringIndex(stream, -1) {
		if strings.Contains(stream[start:at[1]], text) {
			return stream[:start], stream[start:at[1]]
		}
		start = at[1]
	}
	panic(fmt.Sprintf("no event holds %q", text))
}
