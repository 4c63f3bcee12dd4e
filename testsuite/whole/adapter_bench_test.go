//go:build unix

package whole_test

import (
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"testing"
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

// late makes a request that takes so many microseconds from just before the last bytes are sent to the answer in hand.
func (s *answerServer) late(b *testing.B, ask asker) []float64 {
	said, err := ask(b.Context(), s.listen())
	inHand := time.Now()
	require.NoError(b, err)
	require.Equal(b, s.text, said)
	return []float64{micros(inHand.Sub(<-s.ended))}
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

// spent makes ten requests, one after the other, and returns what they cost this process: microseconds of CPU, bytes and
// objects allocated. The part of the server, which only writes bytes, is in it.
func (s *answerServer) spent(b *testing.B, ask asker) []float64 {
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu := ownCPU(b)
	for range 10 {
		said, err := ask(b.Context(), func(string) {})
		require.NoError(b, err)
		require.Equal(b, s.text, said)
	}
	cpu = ownCPU(b) - cpu
	runtime.ReadMemStats(&after)
	return []float64{micros(cpu), float64(after.TotalAlloc - before.TotalAlloc), float64(after.Mallocs - before.Mallocs)}
}

// BenchmarkAnswer reports, for each adapter, what is ours to its vendor's SDK in this process, as the median of pairs taken in
// turn: the time from the last bytes to the answer in hand, where all that was before them had been read, and what an answer
// costs in CPU and memory where it comes as fast as it is read. The answers are texts, and calls with long arguments, of 200
// and 2,000 pieces; of 200 with -short.
func BenchmarkAnswer(b *testing.B) {
	sizes, rounds := []int{200, 2000}, 10
	if testing.Short() {
		sizes, rounds = []int{200}, 1
	}
	for b.Loop() {
		for _, kind := range []struct {
			what          string
			holds, isCall bool
			pairs         int
			figures       func(*answerServer, *testing.B, asker) []float64
			units         []string
		}{
			{"text", true, false, 10 * rounds, (*answerServer).late, []string{"late"}},
			{"text", false, false, 4 + rounds, (*answerServer).spent, []string{"CPU", "B", "objects"}},
			{"call", false, true, 4 + rounds, (*answerServer).spent, []string{"CPU", "B", "objects"}},
		} {
			for name := range sdks() {
				if kind.isCall && name == gemini.Name {
					continue // its calls come in one piece
				}
				for _, pieces := range sizes {
					server := newAnswerServer(name, pieces, kind.isCall)
					server.holds = kind.holds
					server.Start()
					sdk, ours := server.askers(b)
					ratios := make([][]float64, len(kind.units))
					for i := range 2 + kind.pairs {
						var figures [2][]float64
						for j := range 2 {
							who := (i + j) % 2 // the SDK, or ours
							figures[who] = kind.figures(server, b, []asker{sdk, ours}[who])
						}
						for k := range ratios {
							if i >= 2 { // warm
								ratios[k] = append(ratios[k], figures[1][k]/figures[0][k])
							}
						}
					}
					server.Close()
					for k, of := range ratios {
						slices.Sort(of)
						b.ReportMetric(of[len(of)/2], fmt.Sprintf("%s/SDK@%s/%d-%s", kind.units[k], name, pieces, kind.what))
					}
				}
			}
		}
	}
}

// ownCPU is the processor time of this process.
func ownCPU(t testing.TB) time.Duration {
	t.Helper()
	var use syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &use))
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
