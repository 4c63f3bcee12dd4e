package host

import (
	"cmp"
	"slices"
	"strings"
)

// hiding are the forms of secrets. The zero value hides nothing.
type hiding struct {
	forms   []string
	longest int
	replace *strings.Replacer
}

func hidingOf(forms []string) hiding {
	if len(forms) == 0 {
		return hiding{}
	}
	// A text that holds another one is replaced as a whole.
	slices.SortFunc(forms, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	forms = slices.Compact(forms)
	pairs := make([]string, 0, 2*len(forms))
	for _, form := range forms {
		pairs = append(pairs, form, hidden)
	}
	return hiding{forms: forms, longest: len(forms[0]), replace: strings.NewReplacer(pairs...)}
}

func (h hiding) hide(text string) string {
	if h.replace == nil {
		return text
	}
	return h.replace.Replace(text)
}

// begun is how many bytes at the end of a text are the beginning of a form.
func (h hiding) begun(text string) int {
	for n := min(len(text), h.longest-1); n > 0; n-- {
		end := text[len(text)-n:]
		if slices.ContainsFunc(h.forms, func(form string) bool { return strings.HasPrefix(form, end) }) {
			return n
		}
	}
	return 0
}
