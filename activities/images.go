package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"

	"everstep/activities/artifact"
	"everstep/activities/inference"
	"everstep/domain"
)

// imageTypes are what vendors take.
var imageTypes = []string{"image/jpeg", "image/png", "image/gif", "image/webp"}

// images are those of a result's parts that a model can be shown, and a line for each part. What an
// image is its bytes say: a tool that is wrong about it would have each later request refused.
// What is too large to be recorded is kept in the storage, where there is one, and recorded by reference.
func (c toolCall) images(ctx context.Context, parts []domain.Part) (shown []domain.Part, lines string) {
	ctx, cancel := context.WithTimeout(ctx, keepTime)
	defer cancel()
	var all []string
	room := min(cmp.Or(c.request.ImageRoom, domain.MaxResultData), domain.MaxResultData)
	for i, p := range parts {
		if i == domain.MaxResultParts {
			all = append(all, fmt.Sprintf("[%d more: not shown]", len(parts)-i))
			break
		}
		image := domain.Part{Type: domain.PartImage, MediaType: http.DetectContentType(p.Data), Data: p.Data}
		note, hidden := image.Note(), ""
		switch {
		case p.Type != domain.PartImage || !slices.Contains(imageTypes, image.MediaType):
			hidden = "not shown"
		case c.activities.config.Secrets.Hide(string(p.Data)) != string(p.Data):
			hidden = "not shown, it holds a secret"
		case len(p.Data) <= room:
			room -= len(p.Data)
		default:
			image.Data = nil
			image.URL, hidden = c.keepImage(ctx, i, p.Data)
		}
		if hidden == "" {
			shown = append(shown, image)
		} else {
			note = strings.TrimSuffix(p.Note(), "]") + ": " + hidden + "]"
		}
		all = append(all, note)
	}
	return shown, strings.Join(all, "\n")
}

// keepImage keeps an image in the storage, or says why it is not shown.
func (c toolCall) keepImage(ctx context.Context, index int, image []byte) (url, hidden string) {
	store := c.activities.config.Artifacts
	if store == nil || len(image) > artifact.MaxImage {
		return "", "not shown, too large"
	}
	url, err := store.KeepImage(ctx, c.request.ID(), index, image)
	if err != nil {
		c.warn(ctx, "an image is not kept", "error", err)
		return "", "not shown, it could not be kept"
	}
	return url, ""
}

// What one request holds of images that tools have shown: vendors take no more of them, or none of a usual size.
const (
	maxImages = 20
	// imagesAtOnce are left out together where there are too many.
	imagesAtOnce = maxImages / 2
)

// showImages gets the images of tools that a request refers to, and leaves out of it what its model is known not to
// take, what is not there any more, and all but the newest of more than go into one.
func (c *modelCall) showImages(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second) // to get them
	defer cancel()
	left, room := maxImages, 8<<20
	all := 0
	for _, m := range c.call.Messages {
		if m.Role == domain.RoleTool {
			all += len(m.Parts)
		}
	}
	if all > maxImages {
		// Several go at once, so that the requests after this one begin as it does.
		left = all - (all-maxImages+imagesAtOnce-1)/imagesAtOnce*imagesAtOnce
	}
	if facts := c.activities.known(c.call.Config); cannot(facts.Images) {
		left = 0
	}
	for i, m := range slices.Backward(c.call.Messages) {
		if m.Role != domain.RoleTool || len(m.Parts) == 0 {
			continue
		}
		c.putMessage(i, inference.WithoutImages(m))
		// Where one is too many nothing older goes either: what a model has seen goes from the front.
		if left -= len(m.Parts); left < 0 || room < 0 {
			continue
		}
		parts, size, err := c.whole(ctx, m.Parts)
		if err != nil {
			activity.GetLogger(ctx).Warn("an image of a tool is not there, and left out of a request", "error", err)
			continue
		}
		if room -= size; room >= 0 {
			m.Parts = parts
			c.putMessage(i, m)
		}
	}
}

// whole are images with their data, and how many bytes they have.
func (c *modelCall) whole(ctx context.Context, parts []domain.Part) (whole []domain.Part, size int, err error) {
	whole = slices.Clone(parts)
	for i, p := range whole {
		if artifact.IsImage(p.URL) {
			if c.activities.config.Artifacts == nil {
				return nil, 0, errors.New("this worker does not read what others keep: it has no read_artifact")
			}
			if whole[i].Data, err = c.activities.config.Artifacts.Image(ctx, p.URL); err != nil {
				return nil, 0, err
			}
			whole[i].URL = ""
		}
		size += len(whole[i].Data)
	}
	return whole, size, nil
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
			left = true
			c.putMessage(i, inference.WithoutImages(m))
		}
	}
	if left {
		activity.GetLogger(ctx).Warn("a request with images of tools is refused; it is made again without them", "model", c.call.Config.Model, "error", err)
	}
	return left
}
