// Command mass counts what has to be read of a tree of Go: files, lines and tokens, of product, of
// testsuite (the kit: its programs and what users import), of tests, and words of scripts.
// Tokens are counted, since lines can be made longer and files can be cut. Comments are no tokens: write them.
//
//	go -C .ci/mass run . "$PWD"                the whole
//	go -C .ci/mass run . "$PWD" packages       and each package
//	go -C .ci/mass run . "$PWD" limits limits  the whole, and whether it is within the numbers of the file limits
//	go -C .ci/mass run . "$PWD" draw 7 12      twelve functions of product of five lines and more, drawn by seed 7,
//	                                           and twelve of domain and workflows
package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

type count struct{ files, lines, tokens, words, functions int }

func (c *count) add(o count) {
	c.files += o.files
	c.lines += o.lines
	c.tokens += o.tokens
	c.words += o.words
	c.functions += o.functions
}

func main() {
	log.SetFlags(0)
	if len(os.Args) < 2 {
		log.Fatal("usage: mass ROOT [packages | limits FILE | draw SEED NUMBER]")
	}
	root := os.Args[1]
	sums := map[string]*count{}
	var all []string // functions of product
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && path != root && strings.HasPrefix(name, ".") {
			return fs.SkipDir
		}
		script := strings.HasSuffix(name, ".txtar") || strings.HasSuffix(name, ".txt") && strings.Contains(path, "script")
		if d.IsDir() || !script && !strings.HasSuffix(name, ".go") {
			return nil
		}
		if !script && strings.Contains(filepath.ToSlash(path), "/testdata/") {
			return nil
		}
		src, err := os.ReadFile(path)
		if script && err == nil {
			if sums["scripts"] == nil {
				sums["scripts"] = &count{}
			}
			sums["scripts"].add(count{files: 1, lines: strings.Count(string(src), "\n"), tokens: len(strings.Fields(string(src)))})
			return nil
		}
		if err != nil || strings.Contains(string(src[:min(len(src), 300)]), "DO NOT EDIT") {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		kind := "product"
		switch {
		case strings.HasSuffix(name, "_test.go"):
			kind = "tests"
		case strings.HasPrefix(rel, "testsuite/"):
			kind = "kit"
		}
		c, found := measure(rel, src)
		if kind == "product" {
			all = append(all, found...)
		}
		for _, key := range []string{kind, kind + " " + filepath.ToSlash(filepath.Dir(rel))} {
			if sums[key] == nil {
				sums[key] = &count{}
			}
			sums[key].add(c)
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	if len(os.Args) == 5 && os.Args[2] == "draw" {
		seed, err := strconv.ParseUint(os.Args[3], 0, 64)
		n, err2 := strconv.Atoi(os.Args[4])
		if err != nil || err2 != nil {
			log.Fatal("usage: mass ROOT draw SEED NUMBER")
		}
		draw := func(from []string) {
			r := rand.New(rand.NewPCG(seed, uint64(len(from))))
			for _, i := range r.Perm(len(from))[:min(n, len(from))] {
				fmt.Println(from[i])
			}
		}
		draw(all)
		draw(slices.DeleteFunc(slices.Clone(all), func(f string) bool {
			return !strings.HasPrefix(f, "domain/") && !strings.HasPrefix(f, "workflows/")
		}))
		return
	}
	keys := []string{"product", "kit", "tests", "scripts"}
	if len(os.Args) == 3 {
		var packages []string
		for key := range sums {
			if strings.Contains(key, " ") {
				packages = append(packages, key)
			}
		}
		slices.SortFunc(packages, func(a, b string) int { return cmp.Compare(sums[b].tokens, sums[a].tokens) })
		keys = append(keys, packages...)
	}
	for _, key := range keys {
		if c := sums[key]; c != nil {
			fmt.Printf("%-46s %4d files %7d lines %8d tokens %7d words of comments %5d functions\n", key, c.files, c.lines, c.tokens, c.words, c.functions)
		}
	}
	if len(os.Args) == 4 && os.Args[2] == "limits" {
		check(os.Args[3], sums)
	}
}

// check ends the program with an error where a row has more tokens than the file of limits allows. A line of that file
// is the name of a row and its number; one that begins with # says why.
func check(file string, sums map[string]*count) {
	text, err := os.ReadFile(file)
	if err != nil {
		log.Fatal(err)
	}
	limits := map[string]int{}
	for line := range strings.Lines(string(text)) {
		name, number, found := strings.Cut(strings.TrimSpace(line), " ")
		if !found || strings.HasPrefix(name, "#") {
			continue
		}
		if limits[name], err = strconv.Atoi(strings.TrimSpace(number)); err != nil {
			log.Fatalf("%s: %v", file, err)
		}
	}
	for _, row := range []string{"product", "kit", "tests", "scripts"} {
		limit, found := limits[row]
		if !found {
			log.Fatalf("%s: it has no number for %s", file, row)
		}
		if has := sums[row]; has != nil && has.tokens > limit {
			log.Fatalf("%s has %d tokens, and %s allows %d: take something away, or raise the number and say why there", row, has.tokens, file, limit)
		}
	}
}

// measure counts a file, and lists its functions of five lines and more.
func measure(path string, src []byte) (c count, found []string) {
	c = count{files: 1, lines: strings.Count(string(src), "\n")}
	files := token.NewFileSet()
	var s scanner.Scanner
	s.Init(files.AddFile(path, -1, len(src)), src, nil, scanner.ScanComments)
	for {
		switch _, tok, text := s.Scan(); {
		case tok == token.EOF:
			set := token.NewFileSet()
			if f, err := parser.ParseFile(set, path, src, parser.SkipObjectResolution); err == nil {
				for _, d := range f.Decls {
					fn, ok := d.(*ast.FuncDecl)
					if !ok {
						continue
					}
					c.functions++
					if from, to := set.Position(fn.Pos()).Line, set.Position(fn.End()).Line; to-from >= 4 {
						found = append(found, fmt.Sprintf("%s:%d %s", path, from, fn.Name.Name))
					}
				}
			}
			return c, found
		case tok == token.COMMENT:
			c.words += len(strings.Fields(text))
		case tok != token.SEMICOLON || text != "\n":
			c.tokens++
		}
	}
}
