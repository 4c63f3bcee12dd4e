package wire

import (
	"bytes"
	"slices"
	"sync"

	"everstep/activities/inference"
	"everstep/activities/output"
	"everstep/domain"
)

// lessons are what servers were found to refuse, by server and model, for as long as the worker lives.
type lessons struct {
	mu    sync.Mutex
	known map[string][]string
}

// about returns the lessons of one server and model.
func (l *lessons) about(place string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known[place]
}

// add remembers what is new. Where there are too many places, one of the others is forgotten.
func (l *lessons) add(place string, news []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known == nil {
		l.known = map[string][]string{}
	}
	for other := range l.known {
		if len(l.known) < 1000 || l.known[place] != nil {
			break
		}
		delete(l.known, other)
	}
	known := slices.Concat(l.known[place], news)
	slices.Sort(known)
	l.known[place] = slices.Compact(known)
}

// learned is the error of a refused request, an inference.Adapted where the next request will be another.
func (a *Attempt) learned(err *domain.Error, sent, body []byte) error {
	if err.Code != "" || err.Billed || len(body) > 64<<10 {
		return err
	}
	// A lesson by which the request stays as it is leaves room for another.
	for _, learn := range []func(sent, refusal []byte) ([]string, string){learnSchemas, a.client.api.Learn} {
		if learn == nil {
			continue
		}
		news, told := learn(sent, body)
		a.Lessons = slices.Concat(a.Lessons, news)
		if next, _, failed := a.prepare(); len(news) > 0 && (failed != nil || !bytes.Equal(next.Body, sent)) {
			a.client.lessons.add(a.place, news)
			err.Message += "; asked again " + told
			return &inference.Adapted{Refusal: err}
		}
	}
	return err
}

// learnSchemas is as API.Learn, of the schemas of tools.
func learnSchemas(_, refusal []byte) (lessons []string, told string) {
	if refusal = bytes.ToLower(refusal); ofSchemas.Match(refusal) && !ofFormats.Match(refusal) {
		return []string{noSchemas}, "with its tools' schemas in words"
	}
	return nil, ""
}

// noSchemas is the lesson that the server does not take all that a tool's schema may say.
const noSchemas = "schemas"

// How servers refuse a tool's schema, in lower case, and what they say of another.
var (
	ofSchemas = inference.Words(`
		(?:tool|function|parameters|declaration).*(?:schema|\$ref)
		schema.*(?:tool|function|parameters|pattern|unrecognized|unsupported)
		undefined schema
		parse grammar`)
	ofFormats = inference.Words(`response_?(?:format|json|schema)|text\.format|output_(?:format|config)`)
)

// prepare is the request as the server was found to take it.
func (a *Attempt) prepare() (Request, Decoder, error) {
	call := a.call
	if slices.Contains(a.Lessons, noSchemas) {
		call.Tools = slices.Clone(call.Tools)
		for i, t := range call.Tools {
			if len(t.Schema) > 0 {
				call.Tools[i].Schema = output.Told(t.Schema)
			}
		}
	}
	return a.client.api.Prepare(a, call)
}
