package web

import (
	"cmp"
	"context"
	"net/url"
	"strings"

	"golang.org/x/net/html"
)

// readable is the text of a page: its title, headings, paragraphs, lists, tables and
// links, without scripts and styles. It walks over the tokens and makes no tree, so that
// no page takes more time than in proportion to its length. It ends after some most bytes
// of text, and with an error when the context does.
func readable(ctx context.Context, page string, at *url.URL, most int) (string, error) {
	w := &walker{base: short(at), kinds: elements()}
	tokens := html.NewTokenizer(strings.NewReader(page))
	for ctx.Err() == nil {
		if w.out.Len() > most {
			w.line()
			w.words("[what follows is left out: links make it too long]")
			return strings.TrimSpace(w.out.String()), nil
		}
		switch tokens.Next() {
		case html.ErrorToken: // the end
			return strings.TrimSpace(w.out.String()), nil
		case html.TextToken:
			w.text(string(tokens.Text()))
		case html.StartTagToken, html.SelfClosingTagToken:
			w.open(tokens.Token())
		case html.EndTagToken:
			name, _ := tokens.TagName()
			w.close(string(name))
		case html.CommentToken, html.DoctypeToken:
		}
	}
	return "", ctx.Err()
}

// maxLink is the longest link that is written. A page has few bytes for each of its links, and
// each is written whole.
const maxLink = 2 << 10

// short is what links are relative to, or nothing where all of them would be too long.
func short(base *url.URL) *url.URL {
	own := *base
	own.RawQuery, own.Fragment, own.RawFragment = "", "", "" // no link has them of its page
	if len(own.String()) > maxLink {
		return &url.URL{}
	}
	return &own
}

// A walker writes what it meets.
type walker struct {
	out  strings.Builder
	base *url.URL
	// kinds are elements by their names.
	kinds map[string]string
	// hidden is the element that is left out, and deep how many of its name are open.
	hidden string
	deep   int
	// pre counts the elements that keep their spaces.
	pre int
	// breaks are the line ends at the end of the text, space is that one is due.
	breaks int
	space  bool
	// marked means that the text ends in the mark of a heading, a list or a cell.
	marked bool
	// link is where the text leads that is being written, and since when.
	link  string
	since int
}

func (w *walker) text(text string) {
	switch {
	case w.hidden != "":
	case w.pre > 0:
		w.put(text)
	default:
		w.words(text)
	}
}

// words writes a text with one space between words.
func (w *walker) words(text string) {
	for i, word := range strings.Fields(text) {
		w.space = w.space || i > 0 || startsBlank(text)
		if w.space && w.breaks == 0 && w.out.Len() > 0 && !w.marked {
			w.put(" ")
		}
		w.space, w.marked = false, false
		w.put(word)
	}
	if text != "" {
		w.space = w.space || startsBlank(text[len(text)-1:])
	}
}

func startsBlank(text string) bool { return text != "" && strings.ContainsAny(text[:1], " \t\r\n\f") }

func (w *walker) put(text string) {
	w.out.WriteString(text)
	kept := strings.TrimRight(text, "\n")
	if kept != "" {
		w.breaks = 0
	}
	w.breaks += len(text) - len(kept)
}

func (w *walker) mark(text string) {
	w.put(text)
	w.marked = true
}

// line ends the line, paragraph leaves one free.
func (w *walker) line()      { w.end(1) }
func (w *walker) paragraph() { w.end(2) }

func (w *walker) end(breaks int) {
	w.space, w.marked = false, false
	if w.out.Len() == 0 {
		return
	}
	for w.breaks < breaks {
		w.put("\n")
	}
}

func (w *walker) open(t html.Token) {
	if w.hidden != "" {
		if t.Data == w.hidden && t.Type == html.StartTagToken {
			w.deep++
		}
		return
	}
	switch cmp.Or(w.kinds[t.Data], t.Data) {
	case "Hidden":
		if t.Type == html.StartTagToken {
			w.hidden, w.deep = t.Data, 1
		}
	case "base":
		if u, err := w.base.Parse(attribute(t, "href")); err == nil {
			w.base = short(u)
		}
	case "Heading":
		w.paragraph()
		w.mark(strings.Repeat("#", int(t.Data[1]-'0')) + " ")
	case "Item":
		w.line()
		w.mark("- ")
	case "Cell":
		if w.breaks == 0 && w.out.Len() > 0 {
			w.mark(" | ")
		}
	case "br":
		w.put("\n")
		w.space = false
	case "pre":
		w.paragraph()
		w.pre++
	case "img":
		if alt := attribute(t, "alt"); strings.TrimSpace(alt) != "" {
			w.words("[image: " + alt + "]")
		}
	case "a":
		w.leave()
		w.link, w.since = w.target(attribute(t, "href")), w.out.Len()
	case "Paragraph", "hr":
		w.paragraph()
	case "Line":
		w.line()
	}
}

func (w *walker) close(name string) {
	if w.hidden != "" {
		if name == w.hidden {
			if w.deep--; w.deep == 0 {
				w.hidden = ""
			}
		}
		return
	}
	switch cmp.Or(w.kinds[name], name) {
	case "a":
		w.leave()
	case "pre":
		w.pre = max(w.pre-1, 0)
		w.paragraph()
	case "Paragraph", "Heading", "title":
		w.paragraph()
	case "Line", "Item":
		w.line()
	}
}

// elements are those that are more than a part of a line, by what becomes of them, in a word that no element has: hidden ones
// are left out, and others begin and end a line, or leave one free.
func elements() map[string]string {
	kinds := map[string]string{}
	for kind, names := range map[string]string{
		"Hidden":    "script style template svg math iframe object noembed noframes select datalist canvas",
		"Paragraph": "p blockquote table ul ol dl figure article section main header footer nav aside form fieldset details",
		"Line":      "div tr dt dd caption address figcaption summary option legend body",
		"Heading":   "h1 h2 h3 h4 h5 h6", "Item": "li", "Cell": "td th",
	} {
		for name := range strings.FieldsSeq(names) {
			kinds[name] = kind
		}
	}
	return kinds
}

// leave writes where a link leads, if it had a text.
func (w *walker) leave() {
	if w.link != "" && strings.TrimSpace(w.out.String()[w.since:]) != "" {
		w.put(" (" + w.link + ")")
	}
	w.link = ""
}

// target is where a link leads from the page, empty where a reader need not know.
func (w *walker) target(href string) string {
	href = strings.TrimSpace(href)
	if href == "" || href[0] == '#' || len(href) > maxLink {
		return ""
	}
	u, err := w.base.Parse(href)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return ""
	}
	if link := u.String(); len(link) <= maxLink {
		return link
	}
	return ""
}

func attribute(t html.Token, name string) string {
	for _, a := range t.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}
