package conversation_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/conversation"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// executionID is that of the n-th execution.
func executionID(n int) domain.ExecutionID {
	return domain.ExecutionID{UUID: uuid.NewSHA1(uuid.NameSpaceOID, fmt.Append(nil, n))}
}

// chain lists executions, the newest first.
func chain(numbers ...int) []domain.ExecutionID {
	ids := make([]domain.ExecutionID, len(numbers))
	for i, n := range numbers {
		ids[i] = executionID(n)
	}
	return ids
}

// resolved is of a model with a window that compacts at 80 and to 40 percent.
func resolved(window int64, compiler domain.Compiler) *contract.Resolved {
	return &contract.Resolved{
		Definition:    domain.Definition{Compiler: compiler},
		ContextWindow: window, Compaction: &domain.Compaction{TriggerPercent: 80, TargetPercent: 40},
	}
}

// say appends a message of an execution, of so many tokens as are estimated.
func say(c conversation.Conversation, execution int, m domain.Message, trace bool) conversation.Conversation {
	tag := domain.Tag{ExecutionID: executionID(execution), Trace: trace}
	return c.Append("", tag.Apply(m), domain.DigestOf(fmt.Append(nil, c.Len())))
}

// words are a text that is estimated at so many tokens, as a message of it is
// at four more.
func words(tokens int) string { return strings.Repeat("word", tokens) }

func user(tokens int) domain.Message { return domain.UserMessage(words(tokens - 4)) }

func answer(tokens int) domain.Message {
	return domain.Message{Role: domain.RoleAssistant, Parts: []domain.Part{{Type: domain.PartText, Text: words(tokens - 4)}}}
}

// withCalls appends an answer that asks for tools, and their results.
func withCalls(c conversation.Conversation, execution int, results ...int) conversation.Conversation {
	m := domain.Message{Role: domain.RoleAssistant}
	at := c.Len()
	for i := range results {
		m.ToolCalls = append(m.ToolCalls, domain.ToolCall{ID: fmt.Sprintf("%d-%d", at, i), Name: "look", Arguments: `{}`})
	}
	c = say(c, execution, m, true)
	for i, tokens := range results {
		result := domain.ToolResult{CallID: m.ToolCalls[i].ID, Name: "look", Content: words(tokens - 4)}
		c = say(c, execution, domain.ToolMessage(result), true)
	}
	return c
}

// summed has a summary of so many tokens stand for what is planned.
func summed(c conversation.Conversation, tokens int, r *contract.Resolved) conversation.Conversation {
	plan, _ := c.PlanSummary(r)
	return c.Append(domain.SectionSummary, user(tokens), domain.Digest{}).WithSummary(plan, r)
}

// carried is the conversation as the next run takes it over, which holds the
// messages from an index on.
func carried(t require.TestingT, c conversation.Conversation, from int, r *contract.Resolved, chain []domain.ExecutionID) conversation.Conversation {
	encoded, err := json.Marshal(c.Carry(from, r))
	require.NoError(t, err)
	var read contract.CarriedConversation
	require.NoError(t, json.Unmarshal(encoded, &read))
	next, err := conversation.FromCarry(read, r.Definition.Compiler, chain)
	require.NoError(t, err)
	return next
}

// decided is all that the loop asks of a conversation.
func decided(c conversation.Conversation, r *contract.Resolved) map[string]any {
	plan, worth := c.PlanSummary(r)
	return map[string]any{
		"ref": c.Log().Ref(), "edits": c.Edits(), "input": c.Input(r), "window": c.Window(r), "crowded": c.Crowded(r, false),
		"roomy": c.Roomy(r), "plan": plan.Request(), "worth": worth, "inferences": c.Inferences(), "origins": c.Origins(),
		"step": c.StepInput(), "cleared": c.WithResultsCleared(r).Edits(), "then": c.WithResultsCleared(r).Input(r),
	}
}

// A change is one of the ways in which the loop changes a conversation.
type change func(conversation.Conversation) conversation.Conversation

// A talk draws what happens to a conversation.
type talk struct {
	r      *contract.Resolved
	chain  []domain.ExecutionID
	newest int
	// reported says that the provider counts tokens.
	reported bool
}

func newTalk(t *rapid.T) (*talk, conversation.Conversation) {
	compiler := rapid.SampledFrom([]domain.Compiler{domain.CurrentTrace, domain.WholeConversation, ""}).Draw(t, "compiler")
	k := &talk{r: resolved(rapid.Int64Range(200, 4000).Draw(t, "window"), compiler)}
	return k, k.begin("begin")(conversation.New(compiler))
}

func (k *talk) begin(prompt string) change {
	k.newest++
	k.chain = chain(k.newest)
	id, chain := executionID(k.newest), k.chain
	return func(c conversation.Conversation) conversation.Conversation {
		return c.WithExecution(chain, false, k.r).WithPrompt(id, prompt, noon)
	}
}

func (k *talk) goOn() change {
	k.newest++
	k.chain = append(chain(k.newest), k.chain...)
	id, chain := executionID(k.newest), k.chain
	return func(c conversation.Conversation) conversation.Conversation {
		return c.WithExecution(chain, true, k.r).WithGoOn(id, noon)
	}
}

func (k *talk) draw(t *rapid.T) change {
	size, newest := rapid.IntRange(20, 300), k.newest
	switch rapid.SampledFrom([]string{"calls", "calls", "calls", "hook", "inference", "clear", "summary", "cut off", "execution", "go on", "refused"}).Draw(t, "what") {
	case "calls":
		results := rapid.SliceOfN(size, 1, 4).Draw(t, "results")
		return func(c conversation.Conversation) conversation.Conversation { return withCalls(c, newest, results...) }
	case "hook":
		m := user(size.Draw(t, "size"))
		return func(c conversation.Conversation) conversation.Conversation { return say(c, newest, m, true) }
	case "cut off":
		m := answer(size.Draw(t, "said"))
		if rapid.Bool().Draw(t, "reasoning alone") {
			m.Parts[0].Type = domain.PartReasoning
		}
		m = domain.Tag{ExecutionID: executionID(newest), Trace: true, CutOff: true}.Apply(m)
		return func(c conversation.Conversation) conversation.Conversation { return c.Append("", m, domain.Digest{}) }
	case "inference":
		usage := domain.Usage{InputTokens: rapid.Int64Range(0, 3000).Draw(t, "read"), Estimated: !k.reported}
		return func(c conversation.Conversation) conversation.Conversation { return c.WithInference(usage, k.r) }
	case "clear":
		return func(c conversation.Conversation) conversation.Conversation { return c.WithResultsCleared(k.r) }
	case "refused":
		return func(c conversation.Conversation) conversation.Conversation { return c.WithRefused(k.r, 0) }
	case "summary":
		m := domain.UserMessage(words(rapid.IntRange(1, 60).Draw(t, "summary")))
		m = domain.Tag{ExecutionID: executionID(newest)}.Apply(m)
		return func(c conversation.Conversation) conversation.Conversation {
			plan, worth := c.PlanSummary(k.r)
			if !worth {
				return c
			}
			return c.Append(domain.SectionSummary, m, domain.Digest{}).WithSummary(plan, k.r)
		}
	case "execution":
		m, begin := answer(size.Draw(t, "answer")), k.begin(words(size.Draw(t, "prompt")))
		return func(c conversation.Conversation) conversation.Conversation { return begin(say(c, newest, m, false)) }
	}
	return k.goOn()
}

// TestDecidesAlikeWhereverARunBegan: a conversation that was carried at any
// time, with any number of its messages left behind, decides as the one that
// holds them all.
func TestDecidesAlikeWhereverARunBegan(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		k, whole := newTalk(t)
		k.reported = true
		moved := whole
		for range rapid.IntRange(1, 40).Draw(t, "changes") {
			change := k.draw(t)
			whole, moved = change(whole), change(moved)
			if rapid.IntRange(0, 3).Draw(t, "carried") == 0 {
				from := rapid.IntRange(moved.Log().Base(), moved.Len()).Draw(t, "from")
				moved = carried(t, moved, from, k.r, k.chain)
				require.Equal(t, from, moved.Log().Base())
			}
			require.Equal(t, decided(whole, k.r), decided(moved, k.r))
		}
	})
}

// TestInputIsWhatIsShown: what the next inference is estimated to read is the
// sum of what its compiler shows, and in it every call has all its results.
func TestInputIsWhatIsShown(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		k, c := newTalk(t)
		for range rapid.IntRange(1, 40).Draw(t, "changes") {
			c = k.draw(t)(c)
			shown, sum := domain.CompileEdited(k.r.Definition.Compiler, nil, c.Log().Entries(), k.chain, c.Edits()), int64(0)
			calls, results := 0, 0
			for _, m := range shown {
				calls += len(m.ToolCalls)
				switch {
				case m.ToolResult == nil:
					sum += domain.EstimateTokens(m)
				case strings.HasPrefix(m.ToolResult.Content, "[cleared: "):
					results, sum = results+1, sum+conversation.NoteTokens
				default:
					results, sum = results+1, sum+domain.EstimateTokens(m)
				}
			}
			require.Equal(t, sum, c.Input(k.r))
			require.Equal(t, calls, results)
			require.NoError(t, c.Check())
		}
	})
}
