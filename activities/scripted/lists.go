package scripted

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// maxPattern bounds a regular expression in a script, in bytes.
const maxPattern = 1000

// A tallied is something that occurs in a list, and how often.
type tallied struct {
	Name  string
	Count int
}

// matching are the items that a regular expression (RE2) matches.
func matching(pattern string, list any) ([]string, error) {
	var found []string
	err := each("matching", pattern, list, func(re *regexp.Regexp, text string) {
		if re.MatchString(text) {
			found = append(found, text)
		}
	})
	return found, err
}

// captures is what the first group of a regular expression finds in each item
// that it matches.
func captures(pattern string, list any) ([]string, error) {
	var found []string
	err := each("captures", pattern, list, func(re *regexp.Regexp, text string) {
		if groups := re.FindStringSubmatch(text); len(groups) > 1 {
			found = append(found, groups[1])
		}
	})
	return found, err
}

// largest are the n items whose first group is the largest number, that one
// first.
func largest(n int, pattern string, list any) ([]string, error) {
	type numbered struct {
		text   string
		number float64
	}
	var all []numbered
	err := each("largest", pattern, list, func(re *regexp.Regexp, text string) {
		if groups := re.FindStringSubmatch(text); len(groups) > 1 {
			if number, err := strconv.ParseFloat(groups[1], 64); err == nil {
				all = append(all, numbered{text, number})
			}
		}
	})
	slices.SortStableFunc(all, func(a, b numbered) int { return cmp.Compare(b.number, a.number) })
	texts := make([]string, min(max(n, 0), len(all)))
	for i := range texts {
		texts[i] = all[i].text
	}
	return texts, err
}

func each(function, pattern string, list any, visit func(*regexp.Regexp, string)) error {
	if len(pattern) > maxPattern {
		return fmt.Errorf("%s: the pattern has more than %d bytes", function, maxPattern)
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return fmt.Errorf("%s: %w", function, err)
	}
	all, err := items(list)
	if err != nil {
		return fmt.Errorf("%s: %w", function, err)
	}
	for _, item := range all {
		visit(re, fmt.Sprint(item))
	}
	return nil
}

// tally counts what occurs in a list, the most frequent first.
func tally(list any) ([]tallied, error) {
	all, err := items(list)
	if err != nil {
		return nil, fmt.Errorf("tally: %w", err)
	}
	counts := make(map[string]int)
	for _, item := range all {
		counts[fmt.Sprint(item)]++
	}
	tallies := make([]tallied, 0, len(counts))
	for name, count := range counts {
		tallies = append(tallies, tallied{name, count})
	}
	slices.SortFunc(tallies, func(a, b tallied) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name))
	})
	return tallies, nil
}

// sum adds up the items that are whole numbers.
func sum(list any) (int64, error) {
	all, err := items(list)
	if err != nil {
		return 0, fmt.Errorf("sum: %w", err)
	}
	var total int64
	for _, item := range all {
		if n, err := strconv.ParseInt(fmt.Sprint(item), 10, 64); err == nil {
			total += n
		}
	}
	return total, nil
}

// size is a number of bytes as people read it.
func size(number any) (string, error) {
	n, err := strconv.ParseFloat(fmt.Sprint(number), 64)
	if err != nil {
		return "", fmt.Errorf("size: %v is not a number", number)
	}
	for _, unit := range []string{"B", "KiB", "MiB", "GiB"} {
		if n < 1024 || unit == "GiB" {
			digits := 1
			if unit == "B" {
				digits = 0
			}
			return fmt.Sprintf("%.*f %s", digits, n, unit), nil
		}
		n /= 1024
	}
	return "", nil
}

// plural is a number with its noun.
func plural(number int, noun string) string {
	if number == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", number, noun)
}

// bar draws a number as a part of the most there is.
func bar(number, most, width int) string {
	if number <= 0 || most <= 0 {
		return ""
	}
	return strings.Repeat("█", max(1, min(max(width, 0), 1000)*min(number, most)/most))
}
