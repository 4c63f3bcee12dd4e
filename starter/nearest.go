package main

import "strings"

// nearest finds the name that was most likely meant by a word that is none.
func nearest(word string, names []string) (string, bool) {
	word = strings.ToLower(word)
	best, least := "", 3
	for _, name := range names {
		d := distance(word, name)
		if d < least && d < len(name) {
			best, least = name, d
		}
	}
	if best != "" || len(word) < 3 {
		return best, best != ""
	}
	for _, name := range names {
		if strings.HasPrefix(name, word) {
			return name, true
		}
	}
	return "", false
}

// distance is how many letters have to be added, left out or replaced to make
// one word from another. Words are short: the cost is the product of lengths.
func distance(a, b string) int {
	const longest = 64
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
