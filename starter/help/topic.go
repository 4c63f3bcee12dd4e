package help

import (
	"embed"
	"strings"
)

//go:embed *.md
var pages embed.FS

// A Topic is a page of help.
type Topic struct {
	Name  string // what it is asked for by, and the name of its file
	Title string // says in a line what it is about
	Text  string // the page, in Markdown, its heading included
}

const extension = ".md"

// Topics returns all topics, by name.
func Topics() []Topic {
	files, err := pages.ReadDir(".")
	if err != nil {
		panic(err) // what is embedded can be read
	}
	topics := make([]Topic, 0, len(files))
	for _, file := range files {
		text, err := pages.ReadFile(file.Name())
		if err != nil {
			panic(err) // what is embedded can be read
		}
		title, _, _ := strings.Cut(string(text), "\n")
		topics = append(topics, Topic{
			Name: strings.TrimSuffix(file.Name(), extension), Title: strings.TrimPrefix(title, "# "), Text: string(text),
		})
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
