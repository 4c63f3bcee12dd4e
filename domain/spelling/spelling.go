// Package spelling finds the word that was meant by one that is unknown, so
// that an error can name it. Start reading at Nearest.
package spelling

import (
	"slices"
	"strings"
)

const (
	// most is how many letters a word may be off, one in words shorter than whole unless two are swapped: two others make another word of those.
	most, whole = 2, 6
	// longest bounds the words that are compared: the cost of two is the product of their lengths.
	longest = 64
	// start is the shortest word that is taken for the start of a longer one.
	start = 3
)

// Nearest finds the name that was meant by a word that is none: one that is off by two letters at most, by one or a swap if it is short, else
// one that it is the start of. Names are in lower case; the word's own case does not count.
func Nearest(word string, names []string) (string, bool) {
	word = strings.ToLower(word)
	best, least := "", most+1
	for _, name := range names {
		d := distance(word, name)
		if d < least && d < len(name) && (d < most || len(name) >= whole || sorted(word) == sorted(name)) {
			best, least = name, d
		}
	}
	if best != "" || len(word) < start {
		return best, best != ""
	}
	for _, name := range names {
		if strings.HasPrefix(name, word) {
			return name, true
		}
	}
	return "", false
}

func sorted(word string) string {
	letters := []byte(word)
	slices.Sort(letters)
	return string(letters)
}

// distance is how many letters have to be added, left out or replaced to make
// one word from another; longest for words that are too long to compare.
func distance(a, b string) int {
	if len(a) > longest || len(b) > longest {
		return longest
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := before
			if a[i] != b[j] {
				replaced++
			}
			before = row[j+1]
			row[j+1] = min(replaced, row[j]+1, before+1)
		}
	}
	return row[len(b)]
}
