package client

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	sdk "go.temporal.io/sdk/client"

	"everstep/domain"
)

// A cron is a line of it, as Temporal reads them: all fields have to match, those of the day too.
type cron struct {
	text string
	// set holds the values of each of cronFields, in order; of year none where any will do.
	set [7][]int
}

// A cronField is a field of a line.
type cronField struct {
	name        string
	least, most int
	// words stand for values from least on.
	words []string
}

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

var cronFields = [7]cronField{
	{"second", 0, 59, nil}, {"minute", 0, 59, nil}, {"hour", 0, 23, nil}, {"day of month", 1, 31, nil},
	{"month", 1, 12, strings.Fields("jan feb mar apr may jun jul aug sep oct nov dec")},
	{"day of week", 0, 7, strings.Fields("sun mon tue wed thu fri sat")},
	{"year", 2000, lastYear, nil},
}

var cronNames = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

// readCron reads a line of 5 fields, of 6 with the year last, or of 7 with the second first.
func readCron(text string) (cron, error) {
	c := cron{text: strings.Join(strings.Fields(text), " ")}
	line := c.text
	if named, ok := cronNames[line]; ok {
		line = named
	}
	switch first, _, _ := strings.Cut(line, " "); {
	case len(line) > maxComment: // the server keeps the line as a comment
		return c, domain.Errorf(domain.Invalid, "cron: %q has %d characters; at most %d are allowed, so write ranges, such as 0-29", domain.Shorten(c.text, 60), len(line), maxComment)
	case line == "":
		return c, domain.Errorf(domain.Invalid, "cron: is empty; give a line such as \"0 9 * * MON-FRI\"")
	case strings.HasPrefix(line, "@every"):
		return c, domain.Errorf(domain.Invalid, "cron: %q is an interval; give it as every, such as --every 15m", domain.Shorten(c.text, 60))
	case strings.HasPrefix(line, "@"):
		return c, domain.Errorf(domain.Invalid, "cron: %q is none of @hourly, @daily, @weekly, @monthly, @yearly", domain.Shorten(c.text, 60))
	case strings.Contains(first, "="):
		return c, domain.Errorf(domain.Invalid, "cron: %q names a time zone; give it as time_zone (--time-zone)", domain.Shorten(c.text, 60))
	}
	fields := strings.Fields(line)
	switch len(fields) {
	case 5:
		fields = append(append([]string{"0"}, fields...), "*")
	case 6:
		fields = append([]string{"0"}, fields...)
	case 7:
	default:
		return c, domain.Errorf(domain.Invalid, "cron: %q has %d fields; give 5: minute, hour, day of month, month, day of week; "+
			"6 with the year after them, or 7 with the second before them", domain.Shorten(c.text, 60), len(fields))
	}
	for i, field := range cronFields {
		values, err := field.read(fields[i])
		if err != nil {
			return c, domain.Errorf(domain.Invalid, "cron: %q: %s: %s", domain.Shorten(c.text, 60), field.name, err)
		}
		c.set[i] = values
	}
	if fields[year] == "*" {
		c.set[year] = nil
	}
	return c, nil
}

// read is the values of a field in their order.
func (f cronField) read(text string) ([]int, error) {
	var values []int
	for part := range strings.SplitSeq(text, ",") {
		span, step, stepped := strings.Cut(part, "/")
		from, to, ranged := strings.Cut(span, "-")
		low, high, by := f.least, f.most, 1
		var err error
		if span != "*" && span != "?" {
			if low, err = f.value(from); err != nil {
				return nil, err
			}
			if high = low; ranged {
				if high, err = f.value(to); err != nil {
					return nil, err
				}
			} else if stepped {
				high = f.most
			}
		}
		if stepped {
			if by, err = strconv.Atoi(step); err != nil || by < 1 {
				return nil, fmt.Errorf("%q is no step; give a number from 1 on", domain.Shorten(step, 20))
			}
		}
		if low > high {
			return nil, fmt.Errorf("%q ends before it begins", domain.Shorten(span, 20))
		}
		for v := low; v <= high; v += by {
			values = append(values, v)
		}
	}
	if f.name == cronFields[dayOfWeek].name {
		for i := range values {
			values[i] %= 7 // Sunday is 0 and 7
		}
	}
	slices.Sort(values)
	return slices.Compact(values), nil
}

func (f cronField) value(text string) (int, error) {
	if i := slices.Index(f.words, strings.ToLower(text)); i >= 0 {
		return f.least + i, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < f.least || n > f.most {
		words := ""
		if f.words != nil {
			words = ", or a name such as " + strings.ToUpper(f.words[1])
		}
		return 0, fmt.Errorf("%q is no number from %d to %d%s", domain.Shorten(text, 20), f.least, f.most, words)
	}
	return n, nil
}

// spec is the line as the server takes it, with its text as comment.
func (c cron) spec() sdk.ScheduleCalendarSpec {
	return sdk.ScheduleCalendarSpec{
		Second: ranges(c.set[second]), Minute: ranges(c.set[minute]), Hour: ranges(c.set[hour]), DayOfMonth: ranges(c.set[dayOfMonth]),
		Month: ranges(c.set[month]), DayOfWeek: ranges(c.set[dayOfWeek]), Year: ranges(c.set[year]), Comment: c.text,
	}
}

// ranges joins values that follow each other, which are sorted and differ. It is nil, which means any value, for none.
func ranges(values []int) []sdk.ScheduleRange {
	var all []sdk.ScheduleRange
	for _, v := range values {
		if last := len(all) - 1; last >= 0 && all[last].End == v-1 {
			all[last].End = v
			continue
		}
		all = append(all, sdk.ScheduleRange{Start: v, End: v, Step: 1})
	}
	return all
}

// next is the first time from one on; ok is false where there is none up to lastYear.
func (c cron) next(from time.Time) (_ time.Time, ok bool) {
	for day := from; day.Year() <= lastYear; day = time.Date(day.Year(), day.Month(), day.Day()+1, 0, 0, 0, 0, from.Location()) {
		if !c.on(day) {
			continue
		}
		if at, ok := c.within(day); ok {
			return at, true
		}
	}
	return time.Time{}, false
}

// on reports whether it comes on a day.
func (c cron) on(day time.Time) bool {
	return slices.Contains(c.set[dayOfMonth], day.Day()) && slices.Contains(c.set[month], int(day.Month())) &&
		slices.Contains(c.set[dayOfWeek], int(day.Weekday())) && (c.set[year] == nil || slices.Contains(c.set[year], day.Year()))
}

// within is the first time on the day from one on.
func (c cron) within(from time.Time) (time.Time, bool) {
	for _, h := range c.set[hour] {
		for _, m := range c.set[minute] {
			for _, s := range c.set[second] {
				at := time.Date(from.Year(), from.Month(), from.Day(), h, m, s, 0, from.Location())
				if !at.Before(from) {
					return at, true
				}
			}
		}
	}
	return time.Time{}, false
}

// never says why the line never comes after a time, by its fields.
func (c cron) never(after time.Time) error {
	days := []int{31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}
	possible := slices.ContainsFunc(c.set[month], func(m int) bool { return c.set[dayOfMonth][0] <= days[m-1] })
	why := "no date up to 2100 fits day of month, month, day of week and year together; all of them have to"
	switch years := c.set[year]; {
	case !possible:
		why = fmt.Sprintf("day of month: no month that it names has a day %d", c.set[dayOfMonth][0])
	case years != nil && years[len(years)-1] < after.Year():
		why = fmt.Sprintf("year: %d is over", years[len(years)-1])
	}
	return domain.Errorf(domain.Invalid, "cron: %q never comes: %s", domain.Shorten(c.text, 60), why)
}
