package modelfacts

import "strings"

// undated takes a snapshot's mark from the end of a model's name: -latest,
// -2025-08-07 or -20250807.
func undated(model string) (base string, ok bool) {
	if base, ok := strings.CutSuffix(model, "-latest"); ok && base != "" {
		return base, true
	}
	for _, form := range []string{"-dddd-dd-dd", "-dddddddd"} {
		if at := len(model) - len(form); at > 0 && dated(model[at:], form) {
			return model[:at], true
		}
	}
	return "", false
}

// dated reports whether a text is a date of this century in the form, where d
// stands for a digit.
func dated(text, form string) bool {
	digits := make([]byte, 0, 8)
	for i := range len(form) {
		switch {
		case form[i] == '-':
			if text[i] != '-' {
				return false
			}
		case text[i] < '0' || text[i] > '9':
			return false
		default:
			digits = append(digits, text[i])
		}
	}
	date := string(digits)
	month, day := date[4:6], date[6:8]
	return date[:2] == "20" && month >= "01" && month <= "12" && day >= "01" && day <= "31"
}
