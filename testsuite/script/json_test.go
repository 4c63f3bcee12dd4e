package script_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// jsonValues reads JSON values that follow each other.
func jsonValues(text string) ([]any, error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	values := []any{}
	for {
		var value any
		err := decoder.Decode(&value)
		if errors.Is(err, io.EOF) {
			return values, nil
		}
		if err != nil {
			return nil, fmt.Errorf("not JSON: %w: %q", err, text)
		}
		values = append(values, value)
	}
}

// checkJSON requires conditions of a value, or that it has none of the keys.
func checkJSON(ts *testscript.TestScript, neg bool, value any, conditions []string) {
	if len(conditions) == 0 {
		ts.Fatalf("usage: json KEY[=VALUE|~PATTERN]…")
	}
	for _, condition := range conditions {
		if missed := unmet(value, []string{condition}); (missed == "") == neg {
			ts.Fatalf("json %s: %v, and stdout has %v", condition, !neg, value)
		}
	}
}

var conditionForm = regexp.MustCompile(`(?s)^([^=~]+)(?:([=~])(.*))?$`)

// unmet returns the first condition that does not hold: KEY, that it is there; KEY=VALUE; KEY~PATTERN.
func unmet(value any, conditions []string) string {
	for _, condition := range conditions {
		parts := conditionForm.FindStringSubmatch(condition)
		if parts == nil || !anyAt(value, strings.Split(parts[1], "."), func(found any) bool {
			switch parts[2] {
			case "=":
				return jsonText(found) == parts[3]
			case "~":
				return regexp.MustCompile(parts[3]).MatchString(jsonText(found))
			}
			return true
		}) {
			return condition
		}
	}
	return ""
}

// anyAt reports whether what stands at a path does: a part is a key, the index of an item, * for each item, or len for the
// number of items.
func anyAt(value any, path []string, does func(any) bool) bool {
	if len(path) == 0 {
		return does(value)
	}
	switch in := value.(type) {
	case map[string]any:
		found, has := in[path[0]]
		return has && anyAt(found, path[1:], does)
	case []any:
		if path[0] == "len" {
			return does(json.Number(strconv.Itoa(len(in))))
		}
		for i, item := range in {
			if (path[0] == "*" || path[0] == strconv.Itoa(i)) && anyAt(item, path[1:], does) {
				return true
			}
		}
	}
	return false
}

// jsonText is a text as it is, and any other value in JSON.
func jsonText(value any) string {
	if text, is := value.(string); is {
		return text
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(encoded)
}

// keep sets a variable to stdout without blanks around it, or to what stands at a path of its JSON.
func keep(ts *testscript.TestScript, variable string, path []string) {
	text := strings.TrimSpace(ts.ReadFile("stdout"))
	if len(path) > 0 {
		values, err := jsonValues(text)
		ts.Check(err)
		var value any = values
		if len(values) == 1 {
			value = values[0]
		}
		if !anyAt(value, strings.Split(path[0], "."), func(found any) bool { text = jsonText(found); return true }) {
			ts.Fatalf("keep %s: stdout has no %s", variable, path[0])
		}
	}
	if text == "" {
		ts.Fatalf("keep %s: it is empty", variable)
	}
	u := userOf(ts)
	u.names = append(u.names, variable)
	ts.Setenv(variable, text)
}
