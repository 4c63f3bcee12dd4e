package contract

import (
	"encoding/json"
	"slices"

	"everstep/domain"
)

// Answers are the replies to the newest updates, the oldest first: an update that is repeated in a later run is answered as it
// was, and not done again. Within a run the server knows the update by its id.
type Answers []Answer

// An Answer is the encoded reply to one update.
type Answer struct {
	// Update is its name: the same id may have been chosen for another command.
	Update string `json:"update"`
	// ID is the update's, or its digest where the client chose a long one.
	ID    string          `json:"id"`
	Reply json.RawMessage `json:"reply"`
}

const (
	// MaxAnswers bounds the answers in bytes when encoded. A flood of 400 messages fits: its senders repeat many of them.
	MaxAnswers = 200_000
	// answerMargin is what an answer takes beside its id and its reply.
	answerMargin = len(`{"update":"","id":"","reply":},`)
)

// With adds the reply to an update, in place of the oldest where all take too many bytes.
func (a Answers) With(update, id string, reply any) Answers {
	encoded, err := json.Marshal(reply)
	if err != nil || len(encoded) > 40_000 { // a longer one would take the place of too many others
		return a
	}
	with := append(slices.Clip(a), Answer{update, answerID(id), encoded})
	from := len(with)
	for left := MaxAnswers; from > 0; from-- {
		if left -= len(with[from-1].Update) + len(with[from-1].ID) + len(with[from-1].Reply) + answerMargin; left < 0 {
			break
		}
	}
	return with[from:]
}

// Read decodes into reply what the update of that name and id was answered, and reports whether it was.
func (a Answers) Read(update, id string, reply any) bool {
	id = answerID(id)
	i := slices.IndexFunc(a, func(answer Answer) bool { return answer.Update == update && answer.ID == id })
	return i >= 0 && json.Unmarshal(a[i].Reply, reply) == nil
}

func answerID(id string) string {
	if len(id) <= 64 { // others are kept by their digests
		return id
	}
	return domain.DigestOfTexts(id).String()
}
