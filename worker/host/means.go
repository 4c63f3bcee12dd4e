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

	"gocloud.dev/blob"

	"everstep/activities/artifact"
	"everstep/activities/files"
	"everstep/activities/inference"
	"everstep/activities/mcp"
	"everstep/activities/modelfacts"
	"everstep/activities/record"
	"everstep/activities/shell"
	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/hook"
)

// describe is what a worker has, and what it is for.
func (m *means) describe(config Config) []any {
	var names, agents []string
	for _, t := range m.tools {
		if name := t.Spec().Name; config.Allow.Tool(name) {
			names = append(names, name)
		}
	}
	if config.Allow.Agents != nil {
		agents = ofEach(*config.Allow.Agents, func(d domain.Definition) string { return cmp.Or(d.Source, d.Model.String()) })
	}
	if m.servers != nil {
		names = append(names, m.servers.Prefixes()...)
	}
	described := []any{
		"dir", cmp.Or(m.dir, "none"), "storage", cmp.Or(Shown(config.Storage), noStorage), "records", cmp.Or(Shown(RecordsPlace(config.Storage, config.Records)), "none"),
		"providers", strings.Join(slices.Sorted(maps.Keys(m.providers)), " "),
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
	if m.shell != nil {
		described = append(described, "shell", m.shell.Hold().String())
	}
	return described
}

// means is what a worker's activities work with.
type means struct {
	dir       string
	root      *files.Root
	shell     *shell.Shell
	storage   *blob.Bucket
	artifacts *artifact.Store // nil: long results are not kept whole
	records   *record.Store   // nil: what has ended is not recorded
	providers map[string]inference.Provider
	tools     []tool.Tool
	servers   *mcp.Servers // nil: there are none
	hooks     hook.Set
	facts     func(domain.LLMConfig) (modelfacts.Facts, bool)
}

func gather(ctx context.Context, config Config) (_ *means, err error) {
	m := &means{}
	defer func() {
		if err != nil {
			err = errors.Join(err, m.close())
		}
	}()
	if config.Dir != "" {
		if m.dir, err = filepath.Abs(config.Dir); err == nil {
			m.root, err = files.Open(m.dir)
		}
		if err != nil {
			return m, invalid("dir: %v; name another with --dir (EVERSTEP_DIR)", err)
		}
		m.tools = m.root.Tools()
	}
	for _, v := range vendors() {
		if err = config.Vendors[v.Name].outside(m.dir, v); err != nil {
			return m, err
		}
	}
	if err = config.Connection.Outside(m.dir); err != nil {
		return m, err
	}
	seat, _ := config.Connection.seatFile(config.TaskQueue) // where there is none, who serves says why
	for _, state := range append(config.states(), "") {
		if err = Apart(m.dir, Kept{Storage: config.Storage, Records: config.Records, State: state, Seat: seat}); err != nil {
			return m, err
		}
	}
	if err = m.addOptional(config); err != nil {
		return m, err
	}
	m.tools = replace(m.tools, config.Tools)
	if m.servers, err = config.Servers(config.Connection.Logger); err != nil {
		return m, err
	}
	if m.hooks, err = hook.NewSet(config.Hooks...); err != nil {
		return m, invalid("hooks: %v", err)
	}
	if m.facts, err = config.facts(); err != nil {
		return m, err
	}
	if m.providers, err = config.providers(); err != nil {
		return m, err
	}
	if m.storage, err = OpenStorage(ctx, config.Storage); err == nil {
		m.records, err = OpenRecords(ctx, RecordsPlace(config.Storage, config.Records))
	}
	if err == nil {
		err = m.addKept(config)
	}
	return m, err
}

// replace adds tools to others, in the place of one that has the same name.
func replace(tools, with []tool.Tool) []tool.Tool {
	others := slices.DeleteFunc(tools, func(t tool.Tool) bool {
		return slices.ContainsFunc(with, func(own tool.Tool) bool { return own.Spec().Name == t.Spec().Name })
	})
	return append(others, with...)
}

func (m *means) close() (err error) {
	if m.servers != nil {
		m.servers.Close()
	}
	if m.root != nil {
		err = m.root.Close()
	}
	if m.shell != nil {
		err = errors.Join(err, m.shell.Close())
	}
	if m.storage != nil {
		err = errors.Join(err, m.storage.Close())
	}
	if m.records != nil {
		err = errors.Join(err, m.records.Close())
	}
	return err
}
