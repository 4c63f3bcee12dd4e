package modelfacts

import (
	"fmt"
	"strings"

	"everstep/domain/spelling"
)

// suggest names the known key that was most likely meant, else all of them.
func suggest(key string, known []string) string {
	for _, candidate := range known {
		if strings.HasPrefix(strings.ToLower(key), candidate+"_") {
			return fmt.Sprintf("; did you mean %s?", candidate)
		}
	}
	if near, ok := spelling.Nearest(key, known); ok {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	return "; the keys are " + strings.Join(known, ", ")
}
