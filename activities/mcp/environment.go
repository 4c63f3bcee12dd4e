package mcp

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"runtime"
	"strings"
)

// maxFiled bounds how many variables a file has: each may be a secret that is hidden.
const maxFiled = 64

// envLine is NAME=VALUE, with the word by which shells hand it on.
var envLine = regexp.MustCompile(`^(?:export\s+)?([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*(.*)$`)

// filed are the variables of the file that the configuration names, as they stand there: nothing is put in their places.
func (s Server) filed() (all []Variable, _ error) {
	if s.EnvFile == "" {
		return nil, nil
	}
	data, info, err := fileAt(s.EnvFile, 64<<10)
	if err != nil {
		return nil, fmt.Errorf("envFile: %w", err)
	}
	wrong := func(format string, values ...any) error {
		return fmt.Errorf("envFile: %s "+format, append([]any{s.EnvFile}, values...)...)
	}
	if info.Mode().Perm()&0o022 != 0 && runtime.GOOS != "windows" {
		return nil, wrong("may be changed by others than its owner, and so the program; chmod go-w")
	}
	for before, line := range strings.Split(string(bytes.TrimPrefix(data, byteOrder)), "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		found := envLine.FindStringSubmatch(line)
		if found == nil || strings.ContainsRune(line, 0) {
			return nil, wrong("is not NAME=VALUE in line %d", before+1)
		}
		value, _, _ := strings.Cut(found[2], " #")
		if quote := found[2][:min(len(found[2]), 1)]; quote == `"` || quote == "'" {
			end := strings.LastIndex(found[2], quote)
			if end == 0 {
				return nil, wrong("opens a quote in line %d that it does not close", before+1)
			}
			value = found[2][1:end]
		}
		if all = append(all, Variable{found[1], strings.TrimSpace(value)}); len(all) > maxFiled {
			return nil, wrong("has more than %d variables; leave out those that %s does not need", maxFiled, s.Name)
		}
	}
	return all, nil
}

// environment is all of a program's but a PATH. What env says goes before what the file says.
func (s *server) environment() (all []string, _ error) {
	filed, err := s.config.filed()
	if err != nil {
		return nil, mistake{err}
	}
	for _, v := range filed {
		// With shorter ones, such as true or a number, nobody could read what the worker says.
		if len(v.Text) >= 16 || len(v.Text) >= 8 && secretive.MatchString(v.Name) {
			s.options.Keep(v.Text)
		}
		if !s.config.own(v.Name) {
			all = append(all, v.Name+"="+v.Text)
		}
	}
	for _, v := range s.config.Env {
		text, err := v.with(s.options.Secret, nil)
		if err != nil {
			return nil, err
		}
		all = append(all, v.Name+"="+text)
	}
	return all, nil
}

// usualPath is where programs look for others, unless env says so.
const usualPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// fileAt is what a file holds, of at most so many bytes. What is no file is not opened: a pipe may wait for ever.
func fileAt(path string, most int64) (data []byte, info fs.FileInfo, err error) {
	info, err = os.Stat(path)
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		return nil, nil, fmt.Errorf("%s is no file; name one", path)
	case info.Size() > most:
		return nil, nil, fmt.Errorf("%s has more than %d bytes; make it smaller", path, most)
	default:
		data, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s cannot be read: %w; name a file that can", path, cmp.Or(errors.Unwrap(err), err))
	}
	return data, info, nil
}
