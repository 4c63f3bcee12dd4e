package help

import (
	"embed"
	"regexp"
	"strings"

	"charm.land/glamour/v2"
	"charm.land/glamour/v2/ansi"
)

//go:embed *.md
var pages embed.FS

// A Topic is a page of help.
type Topic struct {
	Name  string // what it is asked for by, and the name of its file
	Title string // says in a line what it is about
	Text  string // the page, in Markdown, its heading included
}

// Topics returns all topics, by name.
func Topics() []Topic {
	files, _ := pages.ReadDir(".") // what is embedded can be read
	topics := make([]Topic, len(files))
	for i, file := range files {
		text, _ := pages.ReadFile(file.Name())
		title, _, _ := strings.Cut(string(text), "\n")
		topics[i] = Topic{Name: strings.TrimSuffix(file.Name(), ".md"), Title: strings.TrimPrefix(title, "# "), Text: string(text)}
	}
	return topics
}

// Named returns the topic of a name, and whether there is one.
func Named(name string) (Topic, bool) {
	for _, topic := range Topics() {
		if topic.Name == name {
			return topic, true
		}
	}
	return Topic{}, false
}

// Render returns the page for a terminal of so many columns, in its own sixteen
// colours; who writes it where they cannot be seen takes them out.
func (t Topic) Render(width int) (string, error) {
	renderer, err := glamour.NewTermRenderer(glamour.WithStyles(style()), glamour.WithWordWrap(width))
	if err != nil {
		return "", err
	}
	text, err := renderer.Render(prepared(t.Text))
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for line := range strings.Lines(shown.Replace(text)) {
		b.WriteString(strings.TrimRight(item.ReplaceAllString(line, "$1$2"), " \n") + "\n")
	}
	return b.String(), nil
}

// item is where an item of a list begins. Its mark hangs out of its other lines, which
// the renderer indents no further than that.
var item = regexp.MustCompile(`^((?:\x1b\[[0-9;]*m)*)  (  (?:\x1b\[[0-9;]*m)*(?:•|[0-9]+\.) )`)

// A line may be broken after any of these marks, which would tear flags, names and
// paths apart. So those of a word are hidden until the lines are made, but for the
// numbers of a list.
var (
	words  = regexp.MustCompile(`\S*[0-9A-Za-z]\S*`)
	number = regexp.MustCompile(`^[0-9]+\.$`)
	hidden = strings.NewReplacer("-", "\ue000", ".", "\ue001", ",", "\ue002", ";", "\ue003", "+", "\ue004")
	shown  = strings.NewReplacer("\ue000", "-", "\ue001", ".", "\ue002", ",", "\ue003", ";", "\ue004", "+")
)

const fence = "```"

// goesOn is where an item of a list goes on in the next line.
var goesOn = regexp.MustCompile(`\n {2,}`)

// prepared is a page that the renderer makes good lines of: the lines of an item are
// joined, and code is indented by spaces, since nobody knows how wide a tab is.
func prepared(page string) string {
	parts := strings.Split(page, fence)
	for i := range parts {
		if prose := i%2 == 0; prose {
			parts[i] = goesOn.ReplaceAllString(parts[i], " ")
		} else {
			parts[i] = strings.ReplaceAll(parts[i], "\t", "  ")
		}
		parts[i] = words.ReplaceAllStringFunc(parts[i], func(word string) string {
			if number.MatchString(word) {
				return word
			}
			return hidden.Replace(word)
		})
	}
	return strings.Join(parts, fence)
}

// style is how a page looks on a terminal. Two of a list's four columns are taken by the mark of its items.
func style() ansi.StyleConfig {
	yes, cyan := true, "6"
	two, four := uint(2), uint(4)
	return ansi.StyleConfig{
		Document:    ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{BlockPrefix: "\n"}},
		Heading:     ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{BlockSuffix: "\n", Bold: &yes}},
		List:        ansi.StyleList{StyleBlock: ansi.StyleBlock{Indent: &four}},
		Item:        ansi.StylePrimitive{BlockPrefix: "• "},
		Enumeration: ansi.StylePrimitive{BlockPrefix: ". "},
		Strong:      ansi.StylePrimitive{Bold: &yes},
		Emph:        ansi.StylePrimitive{Italic: &yes},
		Link:        ansi.StylePrimitive{Underline: &yes},
		Code:        ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{Color: &cyan}},
		CodeBlock: ansi.StyleCodeBlock{StyleBlock: ansi.StyleBlock{
			StylePrimitive: ansi.StylePrimitive{Color: &cyan}, Margin: &two,
		}},
	}
}
