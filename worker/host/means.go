package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"everstep/activities/files"
	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/hook"
)

// describe is what a worker has, and what it is for.
func (w *Worker) describe() []any {
	config := w.config
	var names, agents []string
	for _, t := range w.tools {
		if name := t.Spec().Name; config.Allow.Tool(name) {
			names = append(names, name)
		}
	}
	if config.Allow.Agents != nil {
		agents = ofEach(*config.Allow.Agents, func(d domain.Definition) string { return cmp.Or(d.Source, d.Model.String()) })
	}
	if w.servers != nil {
		names = append(names, w.servers.Prefixes()...)
	}
	described := []any{
		"dir", cmp.Or(w.dir, "none"), "storage", cmp.Or(Shown(config.Storage), noStorage), "records", cmp.Or(Shown(RecordsPlace(config.Storage, config.Records)), "none"),
		"providers", strings.Join(slices.Sorted(maps.Keys(w.providers)), " "),
		"tools", fmt.Sprintf("%d: %s", len(names), strings.Join(names, " ")),
		"approvals", cmp.Or(cmp.Or(config.Approvals, domain.DefaultApprovals()).Word(), "rules"),
	}
	list := func(name string, items []string) {
		if items != nil {
			described = append(described, name, cmp.Or(strings.Join(items, " "), "none"))
		}
	}
	list("models", *cmp.Or(config.Allow.Models, new([]string)))
	list("agents", agents)
	list("base_urls", config.AllowBaseURLs)
	if w.shell != nil {
		described = append(described, "shell", w.shell.Hold().String())
	}
	return described
}

// gather opens what the worker's activities work with.
func (w *Worker) gather(ctx context.Context) (err error) {
	config := w.config
	if config.Dir != "" {
		if w.dir, err = filepath.Abs(config.Dir); err == nil {
			w.root, err = files.Open(w.dir)
		}
		if err != nil {
			return invalid("dir: %v; name another with --dir (EVERSTEP_DIR)", err)
		}
		w.tools = w.root.Tools()
	}
	for _, v := range vendors() {
		if err = config.Vendors[v.Name].outside(w.dir, v); err != nil {
			return err
		}
	}
	if err = config.Connection.Outside(w.dir); err != nil {
		return err
	}
	seat, _ := config.Connection.seatFile(config.TaskQueue) // where there is none, who serves says why
	for _, state := range append(config.states(), "") {
		if err = Apart(w.dir, Kept{Storage: config.Storage, Records: config.Records, State: state, Seat: seat}); err != nil {
			return err
		}
	}
	if err = w.addOptional(); err != nil {
		return err
	}
	w.tools = replace(w.tools, config.Tools)
	if w.servers, err = config.Servers(config.Connection.Logger); err != nil {
		return err
	}
	if w.hooks, err = hook.NewSet(config.Hooks...); err != nil {
		return invalid("hooks: %v", err)
	}
	if w.facts, err = config.facts(); err != nil {
		return err
	}
	if w.providers, err = config.providers(); err != nil {
		return err
	}
	if w.storage, err = OpenStorage(ctx, config.Storage); err == nil {
		w.records, err = OpenRecords(ctx, RecordsPlace(config.Storage, config.Records))
	}
	if err == nil {
		err = w.addKept()
	}
	return err
}

// replace adds tools to others, in the place of one that has the same name.
func replace(tools, with []tool.Tool) []tool.Tool {
	others := slices.DeleteFunc(tools, func(t tool.Tool) bool {
		return slices.ContainsFunc(with, func(own tool.Tool) bool { return own.Spec().Name == t.Spec().Name })
	})
	return append(others, with...)
}

// close closes what was opened.
func (w *Worker) close() (err error) {
	w.events.Close()
	if w.servers != nil {
		w.servers.Close()
	}
	if w.root != nil {
		err = w.root.Close()
	}
	if w.shell != nil {
		err = errors.Join(err, w.shell.Close())
	}
	if w.storage != nil {
		err = errors.Join(err, w.storage.Close())
	}
	if w.records != nil {
		err = errors.Join(err, w.records.Close())
	}
	return err
}
