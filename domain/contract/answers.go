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
	// ID is the update's, or its digest where the client chose a long one.
	ID    string          `json:"id"`
	Reply json.RawMessage `json:"reply"`
}

const (
	// maxAnswers bounds the answers in bytes when encoded. A flood of 400 messages fits: its senders repeat many of them.
	maxAnswers = 200_000
	// longestAnswer is up to where a reply is kept: a longer one would take the place of too many others.
	longestAnswer = 40_000
	// longestAnswerID is up to where an update's id is kept as it is.
	longestAnswerID = 64
	// answerMargin is what an answer takes beside its id and its reply.
	answerMargin = len(`{"id":"","reply":},`)
)

// AnswersOf holds one reply.
func AnswersOf(id string, reply any) Answers { return Answers(nil).With(id, reply) }

// With adds the reply to an update, in place of the oldest where all take too many bytes.
func (a Answers) With(id string, reply any) Answers {
	encoded, err := json.Marshal(reply)
	if err != nil || len(encoded) > longestAnswer {
		return a
	}
	with := append(slices.Clip(a), Answer{answerID(id), encoded})
	from := len(with)
	for left := maxAnswers; from > 0; from-- {
		if left -= len(with[from-1].ID) + len(with[from-1].Reply) + answerMargin; left < 0 {
			break
		}
	}
	return with[from:]
}

// Read decodes into reply what the update of that id was answered, and reports whether it was.
func (a Answers) Read(id string, reply any) bool {
	id = answerID(id)
	i := slices.IndexFunc(a, func(answer Answer) bool { return answer.ID == id })
	return i >= 0 && json.Unmarshal(a[i].Reply, reply) == nil
}

func answerID(id string) string {
	if len(id) <= longestAnswerID {
		return id
	}
	return domain.DigestOf([]byte(id)).String()
}
