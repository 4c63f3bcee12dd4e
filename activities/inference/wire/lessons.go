package wire

import (
	"bytes"
	"slices"
	"sync"

	"everstep/activities/inference"
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
	if a.client.api.Learn == nil || err.Code != "" || err.Billed || len(body) > 64<<10 {
		return err
	}
	news, told := a.client.api.Learn(sent, body)
	if a.Lessons = slices.Concat(a.Lessons, news); len(news) == 0 {
		return err
	}
	if next, _, failed := a.client.api.Prepare(a, a.call); failed == nil && bytes.Equal(next.Body, sent) {
		return err
	}
	a.client.lessons.add(a.place, news)
	err.Message += "; asked again " + told
	return &inference.Adapted{Refusal: err}
}
