package whole_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// geminiCalls are calls with the ids that Gemini gives: all different, or none.
func geminiCalls(step int, recorded []recordedCall) []recordedCall {
	calls := make([]recordedCall, len(recorded))
	for k, c := range recorded {
		calls[k] = c
		if calls[k].ID = ""; step%2 == 1 {
			calls[k].ID = fmt.Sprintf("fc-%d-%d", step, k)
		}
	}
	return calls
}

// playGemini says an answer in pieces of Gemini's API. A thought comes before
// text; the first call is signed, and a text without calls is signed at its end.
func playGemini(a playedAnswer) playedStream {
	var s playedStream
	u := a.usage
	counts := fmt.Sprintf(`"usageMetadata":{"promptTokenCount":%d,"cachedContentTokenCount":%d,"candidatesTokenCount":%d,"thoughtsTokenCount":%d,"totalTokenCount":%d}`,
		u.InputTokens, u.CacheReadTokens, u.OutputTokens-u.ReasoningTokens, u.ReasoningTokens, u.TotalTokens())
	piece := func(part, finish string) playedEvent {
		return playedEvent{tells: u, data: fmt.Sprintf(`data: {"candidates":[{"content":{"role":"model","parts":[%s]},%s"index":0}],%s,"modelVersion":"m-1","responseId":"r-%d"}`+"\r\n\r\n", part, finish, counts, a.step)}
	}
	signature := "Cg" + a.seal + "/+"
	signature += strings.Repeat("A", (4-len(signature)%4)%4) // it is base64, as the SDK wants it
	if a.step%3 != 1 {
		e := piece(`{"thought":true,"text":`+quoted(a.thought)+`}`, "")
		e.thought = a.thought
		s.add(e)
		s.order = append(s.order, saidOpaque("thought", a.thought))
	}
	if a.text != "" {
		for _, text := range a.pieces(a.text) {
			e := piece(`{"text":`+quoted(text)+`}`, "")
			e.text = text
			s.add(e)
		}
		s.order = append(s.order, saidText(a.text))
	}
	for k, c := range a.calls {
		signed := ""
		if k == 0 {
			signed, s.inCall = `"thoughtSignature":"`+signature+`",`, len(s.events)
			s.order = append(s.order, saidOpaque("signature", signature))
		}
		id := ""
		if c.ID != "" {
			id = `"id":"` + c.ID + `",`
		}
		call := piece(fmt.Sprintf(`{%s"functionCall":{%s"name":%q,"args":%s}}`, signed, id, c.Function.Name, c.Function.Arguments), "")
		call.tool, call.arguments = c.Function.Name, c.Function.Arguments
		s.add(call)
		s.order = append(s.order, saidCall(c.Function.Name, compact([]byte(c.Function.Arguments))))
	}
	last := ""
	if len(a.calls) == 0 && a.text != "" {
		last = `{"text":"","thoughtSignature":"` + signature + `"}`
		s.order = append(s.order, saidOpaque("signature", signature))
	}
	s.end = len(s.events)
	s.add(piece(last, `"finishReason":"STOP",`))
	return s
}

// geminiRequest is a request's body as far as it is read.
type geminiRequest struct {
	System struct {
		Parts []geminiPart `json:"parts"`
	} `json:"systemInstruction"`
	Contents []struct {
		Role  string       `json:"role"`
		Parts []geminiPart `json:"parts"`
	} `json:"contents"`
	Tools []struct {
		Functions []struct {
			Name string `json:"name"`
		} `json:"functionDeclarations"`
	} `json:"tools"`
}

type geminiPart struct {
	Text      *string `json:"text"`
	Thought   bool    `json:"thought"`
	Signature string  `json:"thoughtSignature"`
	Call      *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
	Response *struct {
		ID       string            `json:"id"`
		Name     string            `json:"name"`
		Response map[string]string `json:"response"`
	} `json:"functionResponse"`
}

// readGemini reads a request. What the user says and what tools answer are
// contents of their own; results name their tools in the order of the calls.
func readGemini(body []byte) (playedRequest, error) {
	var in geminiRequest
	var out playedRequest
	if err := json.Unmarshal(body, &in); err != nil {
		return out, err
	}
	if len(in.System.Parts) != 1 || in.System.Parts[0].Text == nil || *in.System.Parts[0].Text == "" {
		return out, errors.New("the system prompt stands apart, as one text")
	}
	out.system = *in.System.Parts[0].Text
	for _, tool := range in.Tools {
		for _, f := range tool.Functions {
			out.tools = append(out.tools, f.Name)
		}
	}
	before, asked := "", []string(nil)
	for i, c := range in.Contents {
		if len(c.Parts) == 0 || c.Role != "user" && c.Role != "model" || c.Role == "model" && before == "model" {
			return out, fmt.Errorf("content %d is of %q, after one of %q, with %d parts", i, c.Role, before, len(c.Parts))
		}
		before = c.Role
		turns, names, err := readParts(c.Role, c.Parts)
		if err != nil {
			return out, fmt.Errorf("content %d: %w", i, err)
		}
		if c.Role == "user" && strings.Join(asked, " ") != strings.Join(names, " ") {
			return out, fmt.Errorf("content %d has the results of %q; asked was for %q", i, names, asked)
		}
		asked = names
		if c.Role == "user" {
			asked = nil
		}
		out.turns = append(out.turns, turns...)
	}
	return out, nil
}

// readParts reads a content, and names the tools that it calls or that answer in it.
func readParts(role string, parts []geminiPart) (turns []playedTurn, names []string, err error) {
	model := playedTurn{role: "assistant"}
	for k, p := range parts {
		if p.Signature != "" && role == "model" {
			model.order = append(model.order, saidOpaque("signature", p.Signature))
		}
		switch {
		case role == "user" && p.Response != nil:
			output, ok := p.Response.Response["output"]
			if !ok { // of a call that failed
				output, ok = p.Response.Response["error"]
			}
			if !ok || len(parts) > 1 && parts[0].Response == nil {
				return nil, nil, fmt.Errorf("part %d: a result of another form, or beside a text", k)
			}
			turns, names = append(turns, playedTurn{role: "tool", text: output, ids: []string{p.Response.ID}}), append(names, p.Response.Name)
		case role == "user" && p.Text != nil && *p.Text != "":
			turns = append(turns, playedTurn{role: "user", text: *p.Text})
		case role == "model" && p.Call != nil:
			model.order, model.ids = append(model.order, saidCall(p.Call.Name, compact(p.Call.Args))), append(model.ids, p.Call.ID)
			names = append(names, p.Call.Name)
		case role == "model" && p.Text != nil && p.Thought:
			model.order = append(model.order, saidOpaque("thought", *p.Text))
		case role == "model" && p.Text != nil && (*p.Text != "" || p.Signature != ""):
			if *p.Text != "" {
				model.order = append(model.order, saidText(*p.Text))
			}
		default:
			return nil, nil, fmt.Errorf("part %d has nothing in it", k)
		}
	}
	if role == "model" {
		return []playedTurn{model}, names, nil
	}
	return turns, names, nil
}
