package help_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/starter/help"
)

// columns are those of the narrowest terminal for which the pages are made.
const columns = 80

func TestPagesAreWellFormed(t *testing.T) {
	t.Parallel()
	require.NotEmpty(t, help.Topics())
	for _, topic := range help.Topics() {
		require.Regexp(t, `^[a-z]+(-[a-z]+)*$`, topic.Name)
		require.True(t, strings.HasPrefix(topic.Text, "# "+topic.Title+"\n\n"), "%s: begins with a heading", topic.Name)
		require.LessOrEqual(t, len(topic.Title), 60, "%s: its heading fits the list", topic.Name)
		require.True(t, strings.HasSuffix(topic.Text, "\n") && !strings.HasSuffix(topic.Text, "\n\n"), topic.Name)
		named, ok := help.Named(topic.Name)
		require.True(t, ok)
		require.Equal(t, topic, named)
	}
	_, ok := help.Named("nothing")
	require.False(t, ok)
}

// TestPagesHaveTheNumbersOfGuards: what they say of repeated calls is what holds.
func TestPagesHaveTheNumbersOfGuards(t *testing.T) {
	t.Parallel()
	for name, says := range map[string]string{
		"hooks": fmt.Sprintf("after %d steps in a row with the same calls and results the model is told, after %d the", domain.DefaultNudge, domain.DefaultStop),
		"stops": fmt.Sprintf("told after %d times, `stop_requested` after %d", domain.DefaultNudge, domain.DefaultStop),
	} {
		topic, ok := help.Named(name)
		require.True(t, ok)
		require.Contains(t, topic.Text, says)
	}
}

// TestPagesHaveTheKindsOfWaits: the table of what waits for a person is that of the rows, a column each.
func TestPagesHaveTheKindsOfWaits(t *testing.T) {
	t.Parallel()
	rows := [][]string{{""}, {"---"}, {"why it waits"}, {"commands"}, {"edits"}, {"what has to fit"}, {"how often"}, {"at its expiry"}, {"a stop"}}
	for _, rule := range domain.WaitRules() {
		column := []string{"`" + string(rule.Kind) + "`", "---", rule.Cause, "`" + strings.Join(rule.Commands(), "`, `") + "`"}
		switch edited := slices.ContainsFunc(rule.Answers, func(a domain.WaitAnswer) bool { return a.Edits }); {
		case rule.Outlasts:
			column = append(column, "none", "a reason is given", "once; the same again is taken", "never expires", "it waits on")
		case rule.Replies:
			column = append(column, "none", "choices or schema, 50 tries", "once", "its `default`, or no answer", "it is not run")
		default:
			edits := map[bool][]string{true: {"`approve --edit`, 50 tries", "an edit: tool and rules"}, false: {"none", "nothing"}}[edited]
			column = append(append(column, edits...), "once", "denied; with `at_expiry: stop` the execution stops too", "it is not run")
		}
		for i := range rows {
			rows[i] = append(rows[i], column[i])
		}
	}
	var table strings.Builder
	for _, row := range rows {
		table.WriteString(strings.NewReplacer("|  |", "| |", " --- ", "---").Replace("| " + strings.Join(row, " | ") + " |\n"))
	}
	topic, _ := help.Named("permissions")
	_, after, _ := strings.Cut(topic.Text, "## What waits for a person\n\n")
	_, kept, _ := strings.Cut(after, "\n\n")
	kept, _, _ = strings.Cut(kept, "\n\n")
	require.Equal(t, table.String(), kept+"\n", "the table under that heading of permissions.md is to be this")
}

// TestPagesFitTheTerminal: no line is longer than the terminal is wide, and each
// word that the page has is on it whole.
func TestPagesFitTheTerminal(t *testing.T) {
	t.Parallel()
	for _, topic := range help.Topics() {
		for _, width := range []int{columns, 120} {
			t.Run(fmt.Sprint(topic.Name, " ", width), func(t *testing.T) {
				t.Parallel()
				text, err := topic.Render(width)
				require.NoError(t, err)
				require.Contains(t, text, "\x1b[", "it has colours")
				text = ansi.Strip(text)
				for line := range strings.Lines(text) {
					require.LessOrEqual(t, ansi.StringWidth(strings.TrimRight(line, "\n")), width, line)
				}
				for _, block := range regexp.MustCompile("(?ms)^```\\w*\n(.*?)^```").FindAllStringSubmatch(topic.Text, -1) {
					for line := range strings.Lines(block[1]) {
						require.Contains(t, text, strings.ReplaceAll(line, "\t", "  "), "a line of code")
					}
				}
				left, torn := wordsOf(text), []string{}
				for word, count := range wordsOf(topic.Text) {
					if left[word] < count {
						torn = append(torn, word)
					}
				}
				require.Empty(t, torn, "torn or gone:\n%s", text)
			})
		}
	}
}

// wordsOf counts the words of a text, without what marks it up.
func wordsOf(text string) map[string]int {
	text = regexp.MustCompile("(?m)^```.*$|^#+ |^ *[-•] |^[|:-]+$|[│─┼|]").ReplaceAllString(text, " ")
	text = strings.NewReplacer("`", "", "*", "").Replace(text)
	counts := map[string]int{}
	for _, word := range strings.Fields(text) {
		counts[word]++
	}
	return counts
}

// TestListsKeepTheirForm: what is hidden from the maker of lines is not hidden
// from the reader of Markdown.
func TestListsKeepTheirForm(t *testing.T) {
	t.Parallel()
	text, err := help.Topic{Text: "1. one of two\n   lines\n2. two\n\n- a-b, c.d\n  e\n"}.Render(columns)
	require.NoError(t, err)
	require.Equal(t, "\n\n  1. one of two lines\n  2. two\n\n  • a-b, c.d e\n", ansi.Strip(text))

	text, err = help.Topic{Text: "- one two three\n  four\n\nAfter.\n"}.Render(16)
	require.NoError(t, err)
	require.Equal(t, "\n\n  • one two\n    three four\n\nAfter.\n", ansi.Strip(text), "the mark hangs")
}
