//go:build unix

package whole_test

import (
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/gemini"
	"everstep/activities/inference/wire"
)

// askers are the vendor's SDK and our adapter.
func (s *answerServer) askers(t testing.TB) (sdk, ours asker) {
	t.Helper()
	provider := openAdapter(t, s.name, wire.Config{BaseURL: s.URL, Key: wire.FixedKey(sdkKey)})
	return sdks()[s.name](t, s.Server), through(s.name, provider)
}

// A pair is a figure of the SDK and one of ours, taken one after the other.
type pair struct{ sdk, ours float64 }

// alternate takes pairs of figures, and changes who is first.
func alternate(pairs int, sdk, ours func() []float64) (figures [][]pair) {
	for i := range pairs {
		var s, o []float64
		if i%2 == 0 {
			s, o = sdk(), ours()
		} else {
			o, s = ours(), sdk()
		}
		if figures == nil {
			figures = make([][]pair, len(s))
		}
		for k := range s {
			figures[k] = append(figures[k], pair{s[k], o[k]})
		}
	}
	return figures
}

// inMiddle is the median of what is taken of each pair.
func inMiddle(pairs []pair, of func(pair) float64) float64 {
	values := make([]float64, len(pairs))
	for i, p := range pairs {
		values[i] = of(p)
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// tell writes three columns, the SDK's figure, ours, and the ratio of ours to it,
// and returns that.
func tell(out io.Writer, pairs []pair) float64 {
	ratio := inMiddle(pairs, func(p pair) float64 { return p.ours / p.sdk })
	fmt.Fprintf(out, "%.0f\t%.0f\t%.2f\t", inMiddle(pairs, func(p pair) float64 { return p.sdk }), inMiddle(pairs, func(p pair) float64 { return p.ours }), ratio)
	return ratio
}

// late makes requests that take so many microseconds from just before the last
// bytes are sent to the answer in hand.
func (s *answerServer) late(b *testing.B, ask asker) func() []float64 {
	return func() []float64 {
		said, err := ask(b.Context(), s.listen())
		inHand := time.Now()
		require.NoError(b, err)
		require.Equal(b, s.text, said)
		return []float64{micros(inHand.Sub(<-s.ended))}
	}
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

// spent makes some requests, one after the other, and returns what one of them
// cost this process: microseconds of CPU, KB and objects allocated. The part of
// the server, which only writes bytes, is in it.
func (s *answerServer) spent(b *testing.B, ask asker, requests int) func() []float64 {
	return func() []float64 {
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		cpu := ownCPU(b)
		for range requests {
			said, err := ask(b.Context(), func(string) {})
			require.NoError(b, err)
			require.Equal(b, s.text, said)
		}
		cpu = ownCPU(b) - cpu
		runtime.ReadMemStats(&after)
		n := float64(requests)
		return []float64{micros(cpu) / n, float64(after.TotalAlloc-before.TotalAlloc) / n / 1024, float64(after.Mallocs-before.Mallocs) / n}
	}
}

// BenchmarkAnswer prints, for each adapter beside its vendor's SDK in this
// process, the time from the last bytes to the answer in hand, where all that
// was before them had been read, and what an answer costs in CPU and memory
// where it comes as fast as it is read. The answers are texts, and calls with
// long arguments, of 200 and 2,000 pieces; of 200 with -short.
func BenchmarkAnswer(b *testing.B) {
	sizes, pairs, blocks, requests := []int{200, 2000}, 100, 10, 10
	if testing.Short() {
		sizes, pairs, blocks, requests = []int{200}, 10, 4, 5
	}
	for b.Loop() {
		late := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(late, "API\tpieces\tlast byte to answer, µs: SDK\tours\tratio\t")
		cost := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(cost, "API\tan answer of\tCPU, µs: SDK\tours\tratio\tallocated, KB: SDK\tours\tratio\tobjects: SDK\tours\tratio\t")
		for _, name := range slices.Sorted(maps.Keys(sdks())) {
			for _, pieces := range sizes {
				held := newAnswerServer(name, pieces, false)
				held.holds = true
				held.Start()
				sdk, ours := held.askers(b)
				_ = alternate(4, held.late(b, sdk), held.late(b, ours)) // warm
				fmt.Fprintf(late, "%s\t%d\t", name, pieces)
				ratio := tell(late, alternate(pairs, held.late(b, sdk), held.late(b, ours))[0])
				fmt.Fprintln(late)
				b.ReportMetric(ratio, fmt.Sprintf("late/SDK@%s/%d", name, pieces))
				held.Close()

				plain := map[string]*answerServer{"text": newAnswerServer(name, pieces, false)}
				if name != gemini.Name { // its calls come in one piece
					plain["call"] = newAnswerServer(name, pieces, true)
				}
				for _, what := range slices.Sorted(maps.Keys(plain)) {
					server := plain[what]
					server.Start()
					sdk, ours := server.askers(b)
					_ = alternate(1, server.spent(b, sdk, 2), server.spent(b, ours, 2)) // warm
					spent := alternate(blocks, server.spent(b, sdk, requests), server.spent(b, ours, requests))
					fmt.Fprintf(cost, "%s\t%d pieces of a %s\t", name, pieces, what)
					for k, of := range []string{"CPU", "B", "objects"} {
						b.ReportMetric(tell(cost, spent[k]), fmt.Sprintf("%s/SDK@%s/%d-%s", of, name, pieces, what))
					}
					fmt.Fprintln(cost)
					server.Close()
				}
			}
		}
		require.NoError(b, late.Flush())
		require.NoError(b, cost.Flush())
	}
}

// ownCPU is the processor time of this process.
func ownCPU(t testing.TB) time.Duration {
	t.Helper()
	var use syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &use))
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
