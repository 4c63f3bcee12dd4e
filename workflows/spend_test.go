package workflows_test

import (
	"fmt"
	"math/big"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/enum"
)

// A till is the provider's side of the money: what was asked for, what it
// counted, and what that cost, reckoned apart from the code under test.
type till struct {
	budget domain.ExecutionBudget
	price  domain.Price
	tokens int64
	nano   *big.Int
	// beyond is what the newest inference took more than was left for it.
	beyondTokens int64
	beyondNano   *big.Int
	wrong        []string
}

// opens checks what is reserved for a request against what was spent before.
func (p *till) opens(r contract.ModelRequest) {
	if limit := p.budget.MaxTokens; limit != nil {
		if left := *limit - p.tokens; r.TokensLeft != left || left <= 0 {
			p.failf("%d tokens are left by the request, %d by the provider's count", r.TokensLeft, left)
		}
		if r.MaxOutputTokens <= 0 || r.MaxOutputTokens >= r.TokensLeft {
			p.failf("the answer may take %d of the %d tokens that are left", r.MaxOutputTokens, r.TokensLeft)
		}
	}
	if limit := p.budget.MaxCostNanoUSD; limit != nil {
		left := new(big.Int).Sub(big.NewInt(*limit), p.nano)
		if left.Cmp(big.NewInt(r.CostLeftNanoUSD)) != 0 || left.Sign() <= 0 {
			p.failf("%d nano-dollars are left by the request, %s by the provider's count", r.CostLeftNanoUSD, left)
		}
		if most := p.cost(domain.Usage{OutputTokens: r.MaxOutputTokens}); most.Cmp(left) > 0 {
			p.failf("the answer may cost %s of the %s nano-dollars that are left", most, left)
		}
	}
}

// charges counts a usage, as one call.
func (p *till) charges(usages ...domain.Usage) {
	p.beyondTokens, p.beyondNano = 0, new(big.Int)
	for _, u := range usages {
		p.tokens += u.InputTokens + u.OutputTokens
		p.nano.Add(p.nano, p.cost(u))
	}
	if limit := p.budget.MaxTokens; limit != nil {
		p.beyondTokens = max(p.tokens-*limit, 0)
	}
	if limit := p.budget.MaxCostNanoUSD; limit != nil && p.nano.Cmp(big.NewInt(*limit)) > 0 {
		p.beyondNano = new(big.Int).Sub(p.nano, big.NewInt(*limit))
	}
}

// cost is in nano-dollars, rounded up.
func (p *till) cost(u domain.Usage) *big.Int {
	sum := new(big.Int)
	add := func(tokens, price int64) { sum.Add(sum, new(big.Int).Mul(big.NewInt(tokens), big.NewInt(price))) }
	add(u.InputTokens-u.CacheReadTokens, p.price.Input)
	add(u.CacheReadTokens, *p.price.CacheRead)
	add(u.OutputTokens, p.price.Output)
	sum.Add(sum, big.NewInt(999_999))
	return sum.Div(sum, big.NewInt(1_000_000))
}

func (p *till) failf(format string, args ...any) {
	p.wrong = append(p.wrong, fmt.Sprintf(format, args...))
}

// TestNothingIsSpentBeyondALimit, under any interleaving of answers, failures
// that were billed, lost attempts, parallel tools and stops. A provider that
// keeps to the clamp and reads no more than was estimated never exceeds a
// limit; one that counts more exceeds it by no more than that, once.
func TestNothingIsSpentBeyondALimit(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	checked, stopped, exceeded, most := 0, 0, 0, int64(0)
	rapid.Check(t, func(draw *rapid.T) {
		p := drawTill(draw)
		honest := rapid.Bool().Draw(draw, "honest")
		over := int64(0)
		w := &world{tools: []domain.ToolSpec{{Name: "look", Effect: domain.ReadOnly}}}
		w.list = func(contract.ResolveRequest) (contract.Resolved, error) {
			return contract.Resolved{Tools: w.tools, MinOutputTokens: 1, Price: &p.price, Digest: domain.DigestOf([]byte("resolved"))}, nil
		}
		w.model = func(r contract.ModelRequest) (contract.ModelReply, error) {
			p.opens(r)
			reply, estimated := drawSpending(draw, r, honest)
			used := []domain.Usage{reply.Response.Usage}
			if !reply.Spent.IsZero() {
				used = append(used, reply.Spent)
			}
			p.charges(used...)
			over = max(p.beyondTokens, 0)
			if honest && (p.beyondTokens > 0 || p.beyondNano.Sign() > 0) {
				p.failf("a provider that keeps to what it may exceeded a limit by %d tokens, %s nano-dollars (estimated %d, asked %+v)",
					p.beyondTokens, p.beyondNano, estimated, r)
			}
			return reply, nil
		}
		w.tool = func(contract.ToolRequest) (contract.ToolReply, error) {
			return contract.ToolReply{Content: "seen"}, nil
		}
		env := w.environment(t)
		cancelled := false
		if rapid.Bool().Draw(draw, "stop") {
			mode := rapid.SampledFrom(enum.Known[contract.StopMode]()).Draw(draw, "mode")
			cancelled = mode == contract.StopNow
			env.RegisterDelayedCallback(func() {
				env.SignalWorkflow(string(contract.SignalStop), contract.StopRequest{Mode: mode})
			}, time.Duration(rapid.IntRange(0, 3000).Draw(draw, "at"))*time.Millisecond)
		}
		env.ExecuteWorkflow(string(contract.Execute), input(t, "", func(in *contract.SessionInput) {
			in.Budget, in.Definition.Attempts = p.budget, rapid.IntRange(1, 4).Draw(draw, "attempts")
		}))

		out := outcome(t, env)
		require.Empty(t, p.wrong)
		if !cancelled { // the environment drops what an activity answers to a cancellation
			require.Equal(t, p.tokens, out.Usage.TotalTokens(), "all that was spent is counted")
			require.Equal(t, p.nano.String(), fmt.Sprint(out.CostNanoUSD), "all that it cost is counted")
		}
		if limit := p.budget.MaxTokens; limit != nil {
			require.LessOrEqual(t, out.Usage.TotalTokens(), *limit+p.beyondTokens)
		}
		if limit := p.budget.MaxCostNanoUSD; limit != nil {
			require.LessOrEqual(t, out.CostNanoUSD, *limit+p.beyondNano.Int64())
		}
		mu.Lock()
		defer mu.Unlock()
		checked++
		if out.StopReason == domain.TokenLimitReached || out.StopReason == domain.CostLimitReached {
			stopped++
		}
		if over > 0 {
			exceeded, most = exceeded+1, max(most, over)
		}
	})
	t.Logf("%d executions, %d stopped at a limit of tokens or money; %d exceeded one, by at most %d tokens, all counted by the provider beyond what it was given",
		checked, stopped, exceeded, most)
}

func drawTill(draw *rapid.T) *till {
	p := &till{nano: new(big.Int), beyondNano: new(big.Int), price: domain.Price{
		Input: rapid.Int64Range(0, 20_000_000_000).Draw(draw, "input price"), Output: rapid.Int64Range(1, 90_000_000_000).Draw(draw, "output price"),
	}}
	p.price.CacheRead = number(rapid.Int64Range(0, p.price.Input).Draw(draw, "cache price"))
	if rapid.Bool().Draw(draw, "tokens limited") {
		p.budget.MaxTokens = number(rapid.Int64Range(0, 600).Draw(draw, "max tokens"))
	}
	if rapid.Bool().Draw(draw, "cost limited") {
		p.budget.MaxCostNanoUSD = number(rapid.Int64Range(0, 20_000_000).Draw(draw, "max cost"))
	}
	return p
}

// drawSpending draws what comes of an inference. An honest provider keeps to
// the clamp, and reads no more than the workflow can have estimated: what the
// limits leave beside the answer.
func drawSpending(draw *rapid.T, r contract.ModelRequest, honest bool) (contract.ModelReply, int64) {
	output := rapid.Int64Range(0, 40).Draw(draw, "output")
	if r.MaxOutputTokens > 0 {
		output = min(output, r.MaxOutputTokens)
	}
	// The prompt alone is estimated at more than this.
	estimated := int64(5)
	read := rapid.Int64Range(0, estimated).Draw(draw, "read")
	if !honest {
		read = rapid.Int64Range(0, 200).Draw(draw, "read more")
	}
	usage := domain.Usage{InputTokens: read, OutputTokens: output, CacheReadTokens: rapid.Int64Range(0, read).Draw(draw, "cached")}
	var calls []domain.ToolCall
	for i := range rapid.IntRange(0, 3).Draw(draw, "calls") {
		calls = append(calls, domain.ToolCall{ID: fmt.Sprint(i), Name: "look", Arguments: "{}"})
	}
	reply := says("words", calls...)
	reply.Response.Usage = usage
	switch rapid.IntRange(0, 5).Draw(draw, "what comes of it") {
	case 0:
		reply = contract.ModelReply{Outcome: contract.BilledFailure, Spent: usage, Tries: 1, Error: domain.Errorf(domain.Unavailable, "cut off")}
	case 1:
		reply = contract.ModelReply{Outcome: contract.ShutDown, Spent: usage, Tries: 1}
	}
	return reply, estimated
}
