package activities

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"go.temporal.io/sdk/activity"

	"everstep/activities/inference"
	"everstep/domain"
)

// imageTypes are what vendors take.
var imageTypes = []string{"image/jpeg", "image/png", "image/gif", "image/webp"}

// images are those of a result's parts that a model can be shown, and a line for each part. What an
// image is its bytes say: a tool that is wrong about it would have each later request refused.
func (c toolCall) images(parts []domain.Part) (shown []domain.Part, lines string) {
	var all []string
	room := domain.MaxResultData
	for i, p := range parts {
		if i == domain.MaxResultParts {
			all = append(all, fmt.Sprintf("[%d more: not shown]", len(parts)-i))
			break
		}
		sniffed, note := http.DetectContentType(p.Data), p.Note()
		hidden := "not shown"
		switch {
		case p.Type != domain.PartImage || !slices.Contains(imageTypes, sniffed):
		case len(p.Data) > room:
			hidden = "not shown, too large"
		case c.activities.config.Secrets.Hide(string(p.Data)) != string(p.Data):
			hidden = "not shown, it holds a secret"
		default:
			image := domain.Part{Type: domain.PartImage, MediaType: sniffed, Data: p.Data}
			shown, all, room = append(shown, image), append(all, image.Note()), room-len(p.Data)
			continue
		}
		all = append(all, strings.TrimSuffix(note, "]")+": "+hidden+"]")
	}
	return shown, strings.Join(all, "\n")
}

// What one request holds of images that tools have shown: vendors take no more of them, or none of a usual size.
const (
	maxImages    = 20
	maxImageData = 12 << 20
)

// boundImages leaves out of a request what its model is known not to take, and all but the newest of more images
// than go into one.
func (c *modelCall) boundImages() {
	left, room := maxImages, maxImageData
	if facts := c.activities.known(c.call.Config); cannot(facts.Images) {
		left = 0
	}
	for i, m := range slices.Backward(c.call.Messages) {
		if m.Role != domain.RoleTool || len(m.Parts) == 0 {
			continue
		}
		for _, p := range m.Parts {
			left, room = left-1, room-len(p.Data)
		}
		if left < 0 || room < 0 {
			left, room = 0, 0 // nothing older either: what a model has seen goes once, from the front
			c.call.Messages[i] = inference.WithoutImages(m)
		}
	}
}

// withoutImages takes the images of tools out of a request that was refused with them, and reports whether there
// were any: nobody vouches for what a tool returns, and an image that a vendor cannot read, or a model that takes
// none, must not end an agent for good. Whoever refuses a request as invalid has not billed it.
func (c *modelCall) withoutImages(ctx context.Context, err error) (left bool) {
	if err == nil || ctx.Err() != nil {
		return false
	}
	if own := domain.AsError(err); own.Kind != domain.Invalid || own.Code != "" || own.Billed {
		return false
	}
	for i, m := range c.call.Messages {
		if m.Role == domain.RoleTool && len(m.Parts) > 0 {
			left, c.call.Messages[i] = true, inference.WithoutImages(m)
		}
	}
	if left {
		activity.GetLogger(ctx).Warn("a request with images of tools is refused; it is made again without them", "model", c.call.Config.Model, "error", err)
	}
	return left
}
