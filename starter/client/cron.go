package client

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"everstep/domain"
)

// A cron is a line of it as Temporal reads it: the values that each of cronFields may have. All fields have to match, those
// of the day too. It says whether a line ever comes; the server reads the line itself.
type cron [7][]int

// The fields, in the order of a line that has all of them.
const (
	second = iota
	minute
	hour
	dayOfMonth
	month
	dayOfWeek
	year
)

// lastYear is the last one that Temporal's schedules know.
const lastYear = 2100

// cronFields are the fields by name, with their bounds and the words that stand for values from the least on.
var cronFields = [7]struct {
	name        string
	least, most int
	words       []string
}{
	{"second", 0, 59, nil}, {"minute", 0, 59, nil}, {"hour", 0, 23, nil}, {"day of month", 1, 31, nil},
	{"month", 1, 12, strings.Fields("jan feb mar apr may jun jul aug sep oct nov dec")},
	{"day of week", 0, 7, strings.Fields("sun mon tue wed thu fri sat")},
	{"year", 2000, lastYear, nil},
}

var cronNames = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

// maxCron is the longest line, in bytes: the server keeps it as a comment.
const maxCron = 200

// readCron reads a line of 5 fields, of 6 with the year last, or of 7 with the second first.
func readCron(line string) (c cron, err error) {
	fields := strings.Fields(line)
	if named, ok := cronNames[strings.Join(fields, " ")]; ok {
		fields = strings.Fields(named)
	}
	shown := domain.Shorten(line, 60)
	switch n := len(fields); {
	case len(line) > maxCron:
		return c, invalidf("cron: %q has %d bytes; at most %d are allowed, so write ranges, such as 0-29", shown, len(line), maxCron)
	case strings.HasPrefix(line, "@every"):
		return c, invalidf("cron: %q is an interval; give it as every, such as --every 15m", shown)
	case n > 0 && strings.Contains(fields[0], "="):
		return c, invalidf("cron: %q names a time zone; give it as time_zone (--time-zone)", shown)
	case n < 5 || n > 7:
		return c, invalidf("cron: %q has %d fields; give 5: minute, hour, day of month, month, day of week; "+
			"6 with the year after them, 7 with the second before them, or one of @hourly, @daily, @weekly, @monthly, @yearly", shown, n)
	case n == 5:
		fields = slices.Concat([]string{"0"}, fields, []string{"*"})
	case n == 6:
		fields = slices.Concat([]string{"0"}, fields)
	}
	for i, field := range fields {
		if c[i], err = readCronField(i, field); err != nil {
			return c, invalidf("cron: %q: %s: %s", shown, cronFields[i].name, err)
		}
	}
	return c, nil
}

// cronPart is a part of a field: *, a value or a range of them, of which a step may leave some out.
var cronPart = regexp.MustCompile(`^(?:\*|(\w+)(?:-(\w+))?)(?:/([1-9]\d{0,3}))?$`)

// readCronField is the values of a field in their order.
func readCronField(i int, text string) (values []int, err error) {
	field := cronFields[i]
	value := func(text string) int {
		if word := slices.Index(field.words, strings.ToLower(text)); word >= 0 {
			return field.least + word
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			return -1
		}
		return n
	}
	for part := range strings.SplitSeq(text, ",") {
		low, high, step := field.least, field.most, 1
		parts := cronPart.FindStringSubmatch(part)
		if parts != nil && parts[3] != "" {
			step = value(parts[3])
		}
		if parts != nil && parts[1] != "" {
			low = value(parts[1])
			switch {
			case parts[2] != "":
				high = value(parts[2])
			case parts[3] == "": // of a value with a step all from it on count
				high = low
			}
		}
		if parts == nil || step < 1 || low < field.least || low > high || high > field.most {
			words := ""
			if field.words != nil {
				words = ", their names such as " + strings.ToUpper(field.words[1])
			}
			return nil, fmt.Errorf("%q is none of *, numbers from %d to %d%s, ranges such as %d-%d, or steps such as */5",
				domain.Shorten(part, 20), field.least, field.most, words, field.least, field.least+4)
		}
		for v := low; v <= high; v += step {
			if i == dayOfWeek {
				values = append(values, v%7) // Sunday is 0 and 7
				continue
			}
			values = append(values, v)
		}
	}
	slices.Sort(values)
	return values, nil
}

// next is the first time from one on; ok is false where there is none up to lastYear.
func (c cron) next(from time.Time) (_ time.Time, ok bool) {
	for day := from; day.Year() <= lastYear; day = time.Date(day.Year(), day.Month(), day.Day()+1, 0, 0, 0, 0, from.Location()) {
		if !slices.Contains(c[dayOfMonth], day.Day()) || !slices.Contains(c[month], int(day.Month())) ||
			!slices.Contains(c[dayOfWeek], int(day.Weekday())) || !slices.Contains(c[year], day.Year()) {
			continue
		}
		for _, h := range c[hour] {
			for _, m := range c[minute] {
				for _, s := range c[second] {
					at := time.Date(day.Year(), day.Month(), day.Day(), h, m, s, 0, from.Location())
					if !at.Before(day) {
						return at, true
					}
				}
			}
		}
	}
	return time.Time{}, false
}
