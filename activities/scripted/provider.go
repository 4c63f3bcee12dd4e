package scripted

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"everstep/domain"
)

// Name is the provider's name in a model's full name, as in scripted//tmp/a.yaml.
const Name = "scripted"

// A Provider plays scripts, and reads one again when its file has changed.
type Provider struct {
	mu      sync.Mutex
	scripts map[string]parsed
}

const maxScripts = 64

type parsed struct {
	script   *script
	modified time.Time
	size     int64
}

// New returns a provider that has read nothing yet.
func New() *Provider { return &Provider{scripts: make(map[string]parsed)} }

// Check says where in a script a mistake is.
func (p *Provider) Check(_ context.Context, config domain.LLMConfig) error {
	_, err := p.load(config.Model)
	return err
}

// CheckFormat takes every format: a script answers what its file says.
func (p *Provider) CheckFormat(domain.LLMConfig, domain.ResponseFormat, bool) error { return nil }

func (p *Provider) MinOutputTokens() int64 { return 1 }

func (p *Provider) load(path string) (*script, error) {
	s, err := p.read(path)
	if err != nil {
		return nil, domain.AsError(err).From(Name)
	}
	return s, nil
}

func (p *Provider) read(path string) (*script, error) {
	if !filepath.IsAbs(path) {
		return nil, notFound("script %q: is not an absolute path; write the model as %s/FILE with the file's full path", path, Name)
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, notFound("script %s: there is no such file on the worker; check the path", path)
	case err != nil:
		return nil, notFound("script %s: cannot be read: %s", path, reason(err))
	case !info.Mode().IsRegular():
		return nil, notFound("script %s: is not a file; give the file's path", path)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if known, ok := p.scripts[path]; ok && known.modified.Equal(info.ModTime()) && known.size == info.Size() {
		return known.script, nil
	}
	var data []byte
	file, err := os.Open(path)
	if err == nil {
		defer file.Close()
		data, err = io.ReadAll(io.LimitReader(file, maxScript+1))
	}
	if err != nil {
		return nil, notFound("script %s: cannot be read: %s", path, reason(err))
	}
	s, err := parse(path, data)
	if err != nil {
		return nil, err
	}
	if len(p.scripts) >= maxScripts {
		clear(p.scripts)
	}
	p.scripts[path] = parsed{s, info.ModTime(), info.Size()}
	return s, nil
}

func notFound(format string, args ...any) error {
	return domain.CodedErrorf(domain.Invalid, domain.CodeModelNotFound, format, args...)
}

func reason(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}
