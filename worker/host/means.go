package host

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"gocloud.dev/blob"

	"everstep/activities/files"
	"everstep/activities/inference"
	"everstep/activities/modelfacts"
	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/hook"
)

// means is what a worker's activities work with.
type means struct {
	dir         string
	root        *files.Root
	storageName string
	storage     *blob.Bucket
	providers   map[string]inference.Provider
	tools       []tool.Tool
	hooks       hook.Set
	facts       func(domain.LLMConfig) (modelfacts.Facts, bool)
}

// gather opens what the configuration names.
func gather(ctx context.Context, config Config) (_ *means, err error) {
	m := &means{storageName: config.Storage}
	defer func() {
		if err != nil {
			err = errors.Join(err, m.close())
		}
	}()
	if m.dir, err = filepath.Abs(config.Dir); err == nil {
		m.root, err = files.Open(m.dir)
	}
	if err != nil {
		return m, domain.Errorf(domain.Invalid, "dir: %v; name another with --dir (EVERSTEP_DIR)", err)
	}
	for _, v := range vendors() {
		if err = v.access(config).outside(m.dir, v); err != nil {
			return m, err
		}
	}
	m.tools = replace(m.root.Tools(), config.Tools)
	if m.hooks, err = hook.NewSet(config.Hooks...); err != nil {
		return m, domain.Errorf(domain.Invalid, "hooks: %v", err)
	}
	if m.facts, err = config.facts(); err != nil {
		return m, err
	}
	if m.providers, err = config.providers(); err != nil {
		return m, err
	}
	m.storage, err = OpenStorage(ctx, config.Storage)
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
	if m.root != nil {
		err = m.root.Close()
	}
	if m.storage != nil {
		err = errors.Join(err, m.storage.Close())
	}
	return err
}
