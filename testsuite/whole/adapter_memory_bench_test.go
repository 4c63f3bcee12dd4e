//go:build unix

package whole_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"

	"github.com/stretchr/testify/require"
)

// plainHTTP asks without any SDK, and reads the pieces without looking at them.
func (s *answerServer) plainHTTP(ctx context.Context, heard func(string)) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, strings.NewReader("{}"))
	if err != nil {
		return "", err
	}
	response, err := s.Client().Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	if _, err := io.CopyN(io.Discard, response.Body, int64(len(s.first))); err != nil {
		return "", err
	}
	heard(s.text)
	_, err = io.Copy(io.Discard, response.Body)
	return s.text, err
}

// open has so many answers open at once, all pieces read and their ends still
// to come, and returns how much memory one of them takes: heap in use and
// stacks, in KB. Both ends of its connection are in it.
func (s *answerServer) open(b *testing.B, ask asker, streams int) func() []float64 {
	return func() []float64 {
		s.Client().CloseIdleConnections()
		before := heap()
		var heard, ended sync.WaitGroup
		end := make(chan struct{})
		s.gate.Store(&end)
		heard.Add(streams)
		errs := make(chan error, streams)
		for range streams {
			ended.Go(func() {
				left := len(s.text)
				said, err := ask(b.Context(), func(text string) {
					if left -= len(text); left == 0 && text != "" {
						heard.Done()
					}
				})
				if left > 0 {
					heard.Done() // it failed, and nobody is to wait for it
				}
				if err == nil && said != s.text {
					err = fmt.Errorf("another answer: %d bytes", len(said))
				}
				errs <- err
			})
		}
		heard.Wait()
		open := heap()
		close(end)
		ended.Wait()
		for range streams {
			require.NoError(b, <-errs)
		}
		return []float64{float64(open-before) / float64(streams) / 1024}
	}
}

// BenchmarkOpenStreams prints the memory that an open stream takes in the middle
// of an answer, for each adapter beside its vendor's SDK in this process: 200
// streams, of which 64 KB have come, and 20 with -short. Beside them is what it
// takes over HTTP alone.
func BenchmarkOpenStreams(b *testing.B) {
	const bytes = 64 << 10
	streams, pairs := 200, 6
	if testing.Short() {
		streams, pairs = 20, 2
	}
	for b.Loop() {
		table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(table, "API\tpieces\ta stream, KB: HTTP alone\tSDK\tours\tratio\t")
		for _, name := range slices.Sorted(maps.Keys(sdks())) {
			pieces := 100 * bytes / len(newAnswerServer(name, 100, false).first)
			s := newAnswerServer(name, pieces, false).gated()
			sdk, ours := s.askers(b)
			_ = alternate(1, s.open(b, sdk, 4), s.open(b, ours, 4)) // warm
			alone := alternate(1, s.open(b, s.plainHTTP, streams), s.open(b, s.plainHTTP, streams))[0]
			fmt.Fprintf(table, "%s\t%d\t%.0f\t", name, pieces, inMiddle(alone, func(p pair) float64 { return p.ours }))
			b.ReportMetric(tell(table, alternate(pairs, s.open(b, sdk, streams), s.open(b, ours, streams))[0]), "KB/SDK@"+name)
			fmt.Fprintln(table)
			s.Close()
		}
		require.NoError(b, table.Flush())
	}
}

// heap is what is live, stacks included.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}
