package activities_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gocloud.dev/blob/memblob"

	"everstep/activities/artifact"
	"everstep/activities/inference"
	"everstep/activities/tool"
	"everstep/activities/transcript"
	"everstep/domain"
	"everstep/domain/contract"
)

// The beginnings of images are enough to know them by.
const (
	aPNG  = "\x89PNG\r\n\x1a\n"
	aJPEG = "\xff\xd8\xff"
)

func image(mediaType, data string) domain.Part {
	return domain.Part{Type: domain.PartImage, MediaType: mediaType, Data: []byte(data)}
}

// TestImagesOfResults: what a model can be shown goes with the result, all else is named, and both are bounded.
func TestImagesOfResults(t *testing.T) {
	t.Parallel()
	type parts = []domain.Part
	png, jpeg := image("image/png", aPNG+"x"), image("image/jpeg", aJPEG+"x")
	large := image("image/png", aPNG+strings.Repeat("x", domain.MaxResultData))
	many := make([]domain.Part, 30)
	for i := range many {
		many[i] = png
	}
	for name, test := range map[string]struct {
		content string
		parts   parts
		shown   parts
		want    string
	}{
		"none":                  {content: "text", want: "text"},
		"alone":                 {parts: parts{png}, shown: parts{png}, want: "[image image/png 1 KB]"},
		"beside a text":         {content: "text", parts: parts{png, jpeg}, shown: parts{png, jpeg}, want: "text\n[image image/png 1 KB]\n[image image/jpeg 1 KB]"},
		"its type is a lie":     {parts: parts{image("image/jpeg", aPNG)}, shown: parts{image("image/png", aPNG)}, want: "[image image/png 1 KB]"},
		"it is no image":        {parts: parts{image("image/png", "<svg>")}, want: "[image image/png 1 KB: not shown]"},
		"an image of no vendor": {parts: parts{image("image/bmp", "BM")}, want: "[image image/bmp 1 KB: not shown]"},
		"nothing in it":         {parts: parts{image("image/png", "")}, want: "[image image/png: not shown]"},
		"a sound":               {parts: parts{{Type: domain.PartAudio, MediaType: "audio/wav", Data: []byte("x")}}, want: "[audio audio/wav 1 KB: not shown]"},
		"a file that is one":    {parts: parts{{Type: domain.PartFile, MediaType: "image/png", Data: []byte(aPNG), Filename: "a]\n[b"}}, want: "[file image/png 1 KB a   b: not shown]"},
		"too large":             {parts: parts{large, png}, shown: parts{png}, want: "[image image/png 394 KB: not shown, too large]\n[image image/png 1 KB]"},
		"too many":              {parts: many, shown: many[:10], want: strings.Repeat("[image image/png 1 KB]\n", 10) + "[20 more: not shown]"},
		"a secret in it":        {parts: parts{image("image/png", aPNG+canary)}, want: "[image image/png 1 KB: not shown, it holds a secret]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := benchOf(resulting(domain.ReadOnly, tool.Result{Content: test.content, Parts: test.parts}))
			b.config.Secrets = oneSecret{}
			reply := b.run(t)
			require.Nil(t, reply.Error)
			require.Equal(t, test.want, reply.Content)
			require.Equal(t, test.shown, reply.Parts)
		})
	}
}

// TestLargeImagesAreKept in the storage, and got from there for a request, as long as they are there and the worker
// that asks reads it; another agent's are not.
func TestLargeImagesAreKept(t *testing.T) {
	t.Parallel()
	bucket := memblob.OpenBucket(nil)
	store := artifact.New(bucket)
	large := image("image/png", aPNG+strings.Repeat("x", 1_000_000))
	calling := benchOf(resulting(domain.ReadOnly, tool.Result{
		Parts: []domain.Part{large, image("image/png", aPNG), image("image/png", aPNG+strings.Repeat("x", artifact.MaxImage))},
	}))
	calling.config.Artifacts = store
	reply := calling.run(t)
	require.Equal(t, "[image image/png 1001 KB]\n[image image/png 1 KB]\n[image image/png 3501 KB: not shown, too large]", reply.Content)
	require.Len(t, reply.Parts, 2)
	require.Empty(t, reply.Parts[0].Data)
	require.True(t, artifact.IsImage(reply.Parts[0].URL))
	next := request("fake", domain.ReadOnly)
	next.Step++
	again := calling.reply(t, next)
	require.NotEqual(t, reply.Parts[0].URL, again.Parts[0].URL)
	require.False(t, reply.ResultDigest.IsZero())
	require.Equal(t, reply.ResultDigest, again.ResultDigest, "the images are the same")

	seenBy := func(store *artifact.Store, parts ...domain.Part) (domain.Message, []domain.Part) {
		b := answeringBench("a dot", domain.Usage{})
		b.artifacts = store
		shownTo(b, parts...)
		require.Equal(t, "a dot", b.reply(t).Message.Text())
		recorded, _ := b.log.At(b.log.Len() - 1)
		require.Equal(t, parts, recorded.Message.Parts, "what is recorded stays")
		return b.called.Messages[2], b.called.Messages[2].Parts
	}
	_, parts := seenBy(store, reply.Parts...)
	require.Equal(t, []domain.Part{large, image("image/png", aPNG)}, parts)
	for name, test := range map[string]struct {
		store *artifact.Store
		url   string
	}{
		"a worker without it": {nil, reply.Parts[0].URL},
		"one that is gone":    {store, "artifact:00000000-0000-4000-8000-000000000001"},
		"no image's":          {store, "artifact:../agent/other"},
	} {
		m, parts := seenBy(test.store, domain.Part{Type: domain.PartImage, MediaType: "image/png", URL: test.url})
		require.Empty(t, parts, name)
		require.Equal(t, "looked\n[images that are named here are not shown to you]", m.ToolResult.Content, name)
	}
	_, err := store.Image(contract.WithPlace(t.Context(), contract.Place{WorkflowID: "another"}), reply.Parts[0].URL)
	require.ErrorContains(t, err, "read image")

	require.NoError(t, bucket.Close())
	require.Contains(t, calling.run(t).Content, "[image image/png 1001 KB: not shown, it could not be kept]\n")
}

// TestImagesInASharedRoom: a call that shares a step's room with many records no more than its part, never more than it
// would alone.
func TestImagesInASharedRoom(t *testing.T) {
	t.Parallel()
	made := resulting(domain.ReadOnly, tool.Result{Parts: []domain.Part{image("image/png", aPNG+strings.Repeat("x", 300_000)), image("image/png", aPNG)}})
	for name, test := range map[string]struct{ room, shown int }{
		"all of it": {0, 2}, "enough": {350_000, 2}, "too little": {100_000, 1}, "none": {1, 0}, "below none": {-1, 0},
	} {
		asked := request("fake", domain.ReadOnly)
		asked.ImageRoom = test.room
		reply := benchOf(made).reply(t, asked)
		require.Len(t, reply.Parts, test.shown, name)
		require.Equal(t, 2-test.shown, strings.Count(reply.Content, "not shown, too large"), name)
	}
}

// TestNotesOfImagesAreBounded: a tool that may say little has its text all the same.
func TestNotesOfImagesAreBounded(t *testing.T) {
	t.Parallel()
	var parts []domain.Part
	for range 10 {
		parts = append(parts, domain.Part{Type: domain.PartFile, MediaType: strings.Repeat("x", 100), Filename: strings.Repeat("y", 1000)})
	}
	made := resulting(domain.ReadOnly, tool.Result{Content: "begin" + strings.Repeat(".", 2000) + "end", Parts: parts}, tool.MaxOutput(1024))
	content := benchOf(made).run(t).Content
	require.LessOrEqual(t, len(content), 1024)
	require.Contains(t, content, "begin")
	require.Contains(t, content, "end\n[file x")
}

// shownTo has a tool of the conversation show images.
func shownTo(b *modelBench, images ...domain.Part) {
	m := domain.ToolMessage(domain.ToolResult{CallID: "a", Name: "f", Content: "looked"})
	m.Parts = images
	asks := domain.Message{Role: domain.RoleAssistant, ToolCalls: []domain.ToolCall{{ID: "a", Name: "f", Arguments: "{}"}}}
	b.say(asks, m)
}

// seen is how many images of tools a model gets.
func seen(call inference.Call) (images int) {
	for _, m := range call.Messages {
		if m.Role == domain.RoleTool {
			images += len(m.Parts)
		}
	}
	return images
}

// TestImagesInARequest: as many as vendors take, the newest; none for a model that is known to take none.
func TestImagesInARequest(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		model        string
		images, size int
		want         int
	}{
		"few":       {"able", 3, 100, 3},
		"too many":  {"able", 25, 100, 15},
		"more":      {"able", 30, 100, 20},
		"too large": {"able", 20, 1 << 20, 8},
		"blind":     {"blind", 3, 100, 0},
		"not known": {"new", 3, 100, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := answeringBench("a dot", domain.Usage{})
			b.facts = abilities
			b.resolved.Definition.Model.Model = test.model
			for range test.images {
				shownTo(b, image("image/png", strings.Repeat("x", test.size)))
			}
			require.Equal(t, "a dot", b.reply(t).Message.Text())
			require.Equal(t, test.want, seen(b.called))
			oldest := b.called.Messages[2]
			require.Equal(t, test.want == test.images, len(oldest.Parts) > 0)
			if test.want < test.images {
				require.Equal(t, "looked\n[images that are named here are not shown to you]", oldest.ToolResult.Content)
			}
		})
	}
}

// TestARequestThatIsRefusedWithImages is made again without them, once, where it surely cost nothing: a tool's image
// that a vendor cannot read does not end an agent.
func TestARequestThatIsRefusedWithImages(t *testing.T) {
	t.Parallel()
	billed := domain.Invalidf("an error in an answer that had begun")
	billed.Billed = true
	for name, test := range map[string]struct {
		images  int
		refusal *domain.Error
		tries   int
		want    string
	}{
		"refused":              {images: 2, refusal: domain.Invalidf("could not process image"), tries: 2},
		"without any":          {refusal: domain.Invalidf("no"), tries: 1, want: "no"},
		"it may be billed":     {images: 2, refusal: billed, tries: 1},
		"it is no such":        {images: 2, refusal: domain.CodedErrorf(domain.Invalid, domain.CodeModelNotFound, "no such model"), tries: 1, want: "no such model"},
		"refused all the same": {images: 2, refusal: domain.Invalidf("wrong"), tries: 2, want: "wrong"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var calls int
			b := modelBenchOf(func(_ context.Context, call inference.Call, _ func(inference.Delta)) (inference.Answer, error) {
				calls++
				if seen(call) > 0 || test.want != "" {
					return inference.Answer{}, test.refusal
				}
				return says("I see nothing", domain.Usage{}), nil
			})
			for range test.images {
				shownTo(b, image("image/png", aPNG))
			}
			switch {
			case test.want != "":
				_, failed := b.failure(t)
				require.Contains(t, failed.Message, test.want)
			case test.refusal.Billed:
				require.NotNil(t, b.reply(t).Error)
			default:
				require.Equal(t, "I see nothing", b.reply(t).Message.Text())
			}
			require.Equal(t, test.tries, calls)
		})
	}
}

// TestImagesThatOneRequestLeftOutAreInTheNext: what was compiled for one is kept for the next as it was.
func TestImagesThatOneRequestLeftOutAreInTheNext(t *testing.T) {
	t.Parallel()
	b := modelBenchOf(nil)
	shownTo(b, image("image/png", aPNG))
	b.source = &transcript.Source{Cache: transcript.NewCache(64 << 20)}
	var images []int
	b.model = func(_ context.Context, call inference.Call, _ func(inference.Delta)) (inference.Answer, error) {
		images = append(images, len(call.Messages[2].Parts))
		if len(call.Messages[2].Parts) > 0 {
			return inference.Answer{}, domain.Invalidf("no images")
		}
		return says("a dot", domain.Usage{}), nil
	}
	for range 2 {
		b.source.Cache.Feed(agent, b.log, b.resolved)
		require.Equal(t, "a dot", b.reply(t).Message.Text())
		b.say(domain.UserMessage("and now?"))
	}
	require.Equal(t, []int{1, 0, 1, 0}, images)
}
