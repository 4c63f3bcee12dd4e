package accountcheck

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"everstep/domain"
	"everstep/domain/account"
)

// maxPart is how many bytes of a part are noted; of a longer one its digest is.
const maxPart = 16 << 10

// A Note is the whole account of a run as its workflow has it after a workflow task.
type Note struct {
	RunID string `json:"run_id"`
	// Length is that of the history in the task: the id of the event with which the task was started.
	Length int `json:"length"`
	// Parts are the account's, and what the run holds, as JSON or, where that is long, as its digest.
	Parts map[account.Part]string `json:"parts"`
	// Failed is why the workflow could not tell.
	Failed string `json:"failed,omitzero"`
}

// held is the key of a note for what the run holds.
const held account.Part = "held"

var wanted = []account.Part{account.Executions, account.Steps, account.Events, account.Messages, account.HeadOf, account.State, account.Definition}

// noteOf asks for all pages of an account.
func noteOf(runID string, length int, ask func(account.Request) (account.Page, error)) (Note, error) {
	note := Note{RunID: runID, Length: length}
	var all account.Account
	request := account.Request{Want: wanted}
	for {
		page, err := ask(request)
		if err != nil {
			return note, err
		}
		all = all.With(page.Account)
		if page.Next != nil {
			request.From = *page.Next
			continue
		}
		note.Parts, err = partsOf(all, page.Held)
		return note, err
	}
}

func partsOf(all account.Account, holds account.Held) (map[account.Part]string, error) {
	parts := map[account.Part]string{}
	for part, value := range map[account.Part]any{
		account.Executions: all.Executions, account.Steps: all.Steps, account.Events: all.Events, account.Messages: all.Messages,
		account.HeadOf: all.Head, held: holds,
	} {
		encoded, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", part, err)
		}
		if parts[part] = string(encoded); len(encoded) > maxPart {
			parts[part] = fmt.Sprintf("%d bytes, %s", len(encoded), domain.DigestOfTexts(parts[part]))
		}
	}
	return parts, nil
}

// differences say which parts of two notes are not the same, and where they begin to differ.
func differences(one string, is Note, other string, was Note) (found []string) {
	if is.Failed != "" {
		return []string{fmt.Sprintf("run %s, the workflow task started by event %d: %s", is.RunID, is.Length, is.Failed)}
	}
	for _, part := range append(slices.Clone(wanted[:5]), held) {
		a, b := is.Parts[part], was.Parts[part]
		if a == b {
			continue
		}
		from := 0
		for from < min(len(a), len(b)) && a[from] == b[from] {
			from++
		}
		found = append(found, fmt.Sprintf("run %s, the workflow task started by event %d: %s: %s %s, %s %s",
			is.RunID, is.Length, part, one, excerpt(a, from), other, excerpt(b, from)))
	}
	return found
}

func excerpt(text string, from int) string {
	return "…" + strings.ToValidUTF8(text[max(from-80, 0):min(from+120, len(text))], "") + "…"
}
