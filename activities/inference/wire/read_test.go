package wire_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/domain"
)

// decoder reads a little API: events and bodies are {"text":…}, {"error":…} or
// {"end":true}; the data "bye" is behind the last event.
type decoder struct {
	*wire.Attempt
	complete, full bool
}

func (d *decoder) Finish() string {
	switch {
	case d.full:
		return "Model_context_window_exceeded"
	case d.complete:
		return "end"
	}
	return ""
}

func (d *decoder) Answer() inference.Answer { return d.Finished(domain.FinishStop, "end") }

func (d *decoder) Whole(data []byte) error {
	d.complete = !bytes.Contains(data, []byte("unfinished"))
	return d.take(data)
}

func (d *decoder) Event(e wire.Event) error {
	if string(e.Data) == "bye" {
		d.Done()
		return nil
	}
	return d.take(e.Data)
}

func (d *decoder) take(data []byte) error {
	var piece struct {
		Text  wire.Text       `json:"text"`
		Error json.RawMessage `json:"error"`
		End   bool            `json:"end"`
		Full  bool            `json:"full"`
	}
	if json.Unmarshal(data, &piece) != nil {
		return d.Malformed("no piece", data)
	}
	if wire.Present(piece.Error) {
		return d.Inner(data)
	}
	d.Text(0, string(piece.Text))
	d.complete, d.full = d.complete || piece.End, piece.Full
	return nil
}

// TestReadBounds: what is kept of an answer is bounded, and so is an event, but
// not to less than that.
func TestReadBounds(t *testing.T) {
	t.Parallel()
	const most = 16 << 20
	text := func(n int) string { return `{"text":"` + strings.Repeat("x", n-len(`{"text":""}`)) + `"}` }
	for name, test := range map[string]struct {
		body, says string
	}{
		"a body":             {text(most), ""},
		"a body, too long":   {text(most + 1), "the answer has more than 16777216 bytes"},
		"an event":           {"data: " + text(most-6) + "\n\n", "the answer has more than 4194304 bytes"},
		"a line, too long":   {"data: " + text(most), "an event of the answer has more than 16777216 bytes"},
		"lines, too long":    {strings.Repeat("data: "+strings.Repeat("x", 1<<20)+"\n", 17), "an event of the answer has more than 16777216 bytes"},
		"many, too much":     {strings.Repeat("data: "+text(1<<20)+"\n\n", 5), "the answer has more than 4194304 bytes"},
		"a comment, no more": {":" + strings.Repeat("x", 8<<20) + "\n\ndata: {\"text\":\"hello\",\"end\":true}\n\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, test.body) })
			_, failed := attempt(t, wire.Config{BaseURL: server})
			if test.says == "" {
				require.Nil(t, failed)
				return
			}
			require.NotNil(t, failed)
			require.Equal(t, domain.TooLarge, failed.Kind)
			require.Contains(t, failed.Message, test.says)
		})
	}
}
