package testsuite

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"unicode/utf8"

	"everstep/domain"
)

// A difference is one place where what is done now is not what was recorded.
type difference struct {
	event    int64
	of       string
	path     string
	from, to string // as JSON; empty where there is none
	text     string
}

func (d difference) String() string {
	where := ""
	if d.path != "" {
		where = " at " + d.path
	}
	return fmt.Sprintf("event %d, %s%s: %s", d.event, d.of, where, d.text)
}

// compare pairs what was recorded with what is done now: in each workflow task
// and of each kind, in order. What an open history does not reach, beyond its
// finished tasks, is left out.
func compare(recorded, done []command, finished map[int64]bool) []difference {
	type group struct {
		task int64
		kind commandKind
	}
	now, before := map[group][]command{}, map[group][]command{}
	for _, c := range done {
		g := group{c.task, c.kind}
		now[g] = append(now[g], c)
	}
	for _, c := range recorded {
		g := group{c.task, c.kind}
		before[g] = append(before[g], c)
	}
	var all []difference
	for g, events := range before {
		all = append(all, pair(events, now[g])...)
	}
	for g, ends := range now {
		if g.kind == kindEnd && finished[g.task] && before[g] == nil {
			all = append(all, difference{event: g.task, of: ends[0].of, text: "is not recorded, and comes now"})
		}
	}
	slices.SortStableFunc(all, func(a, b difference) int { return cmp.Compare(a.event, b.event) })
	return all
}

// pair compares the events of one task and kind with what is done now. More may
// be done than there are events, for what was cancelled in the same task left
// none: then each event takes the next that is equal, or else the next.
func pair(events, done []command) []difference {
	var all []difference
	for i, event := range events {
		if len(done) == 0 {
			all = append(all, difference{event: event.event, of: event.of, from: encoded(event.value), text: "is recorded, and is not done now"})
			continue
		}
		spare := max(len(done)-(len(events)-i), 0)
		equal := max(slices.IndexFunc(done[:spare+1], func(c command) bool {
			return c.of == event.of && reflect.DeepEqual(c.value, event.value)
		}), 0)
		all = append(all, event.differences(done[equal])...)
		done = done[equal+1:]
	}
	return all
}

func (c command) differences(now command) []difference {
	if c.of != now.of {
		return []difference{{event: c.event, of: c.of, from: encoded(c.value), text: "is recorded, and now it is " + now.of}}
	}
	walk := differing{command: c}
	walk.values("", c.value, now.value)
	return walk.all
}

// differing walks two values of JSON.
type differing struct {
	command
	all []difference
}

func (d *differing) add(path, from, to, text string) {
	d.all = append(d.all, difference{event: d.event, of: d.of, path: path, from: from, to: to, text: text})
}

func (d *differing) values(path string, recorded, now any) {
	if reflect.DeepEqual(recorded, now) {
		return
	}
	switch was := recorded.(type) {
	case map[string]any:
		if is, ok := now.(map[string]any); ok {
			d.objects(path, was, is)
			return
		}
	case []any:
		if is, ok := now.([]any); ok {
			d.lists(path, was, is)
			return
		}
	case string:
		if is, ok := now.(string); ok {
			shortWas, shortIs := apart(was, is)
			d.add(path, encoded(was), encoded(is), fmt.Sprintf("recorded %q, now %q", shortWas, shortIs))
			return
		}
	}
	d.add(path, encoded(recorded), encoded(now), "recorded "+shown(recorded)+", now "+shown(now))
}

func (d *differing) objects(path string, was, is map[string]any) {
	both := maps.Clone(was)
	maps.Copy(both, is)
	for _, key := range slices.Sorted(maps.Keys(both)) {
		recorded, had := was[key]
		now, has := is[key]
		switch at := path + "/" + key; {
		case had && has:
			d.values(at, recorded, now)
		case had:
			d.add(at, encoded(recorded), "", "recorded "+shown(recorded)+", now missing")
		default:
			d.add(at, "", encoded(now), "not recorded, now "+shown(now))
		}
	}
}

// lists compares as far as both go; a list that grew is no added field.
func (d *differing) lists(path string, was, is []any) {
	for i := range min(len(was), len(is)) {
		d.values(path+"/"+strconv.Itoa(i), was[i], is[i])
	}
	if len(was) != len(is) {
		d.add(path, encoded(was), encoded(is), fmt.Sprintf("recorded %d elements, now %d", len(was), len(is)))
	}
}

func encoded(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprintf("%T", value)
	}
	return string(text)
}

// maxShown is how many bytes of a value a failure shows.
const maxShown = 80

func shown(value any) string { return shortened(encoded(value), maxShown) }

// apart shortens two texts to where they part.
func apart(a, b string) (string, string) {
	same := 0
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	from := max(same-maxShown/4, 0)
	for from > 0 && !utf8.RuneStart(a[from]) {
		from--
	}
	if from == 0 {
		return shortened(a, maxShown), shortened(b, maxShown)
	}
	return "…" + shortened(a[from:], maxShown), "…" + shortened(b[from:], maxShown)
}

func shortened(text string, most int) string {
	short := domain.Shorten(text, most)
	if short != text {
		short += "…"
	}
	return short
}
