// Command compose reads docker-compose.yml with Docker Compose's own loader and
// needs no Docker.
//
//	compose FILE check              every rule of this file, a line for each breach
//	compose FILE config NAME        the content of an inline configuration
//	compose FILE command SERVICE    the last argument of a service's command
//	compose FILE environment SERVICE KEY
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/sirupsen/logrus"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "compose:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("give a file and what to do with it: check, config, command or environment")
	}
	project, err := load(args[0])
	if err != nil {
		return err
	}
	switch verb, rest := args[1], args[2:]; {
	case verb == "check" && len(rest) == 0:
		return check(args[0], project)
	case verb == "config" && len(rest) == 1:
		return show(project.Configs[rest[0]].Content)
	case verb == "command" && len(rest) == 1:
		command := project.Services[rest[0]].Command
		if len(command) == 0 {
			return fmt.Errorf("service %q has no command", rest[0])
		}
		return show(command[len(command)-1])
	case verb == "environment" && len(rest) == 2:
		value := project.Services[rest[0]].Environment[rest[1]]
		if value == nil {
			return fmt.Errorf("service %q has no variable %q", rest[0], rest[1])
		}
		return show(*value)
	default:
		return fmt.Errorf("cannot do %q", strings.Join(args[1:], " "))
	}
}

func load(file string) (*types.Project, error) {
	options, err := cli.NewProjectOptions([]string{file}, cli.WithOsEnv, cli.WithInterpolation(true), cli.WithResolvedPaths(true))
	if err != nil {
		return nil, err
	}
	return options.LoadProject(context.Background())
}

func show(text string) error {
	if text == "" {
		return fmt.Errorf("is not there, or empty")
	}
	_, err := fmt.Print(text)
	return err
}

// check returns what breaks the rules that Compose itself does not know.
func check(file string, project *types.Project) error {
	broken := 0
	breach := func(format string, args ...any) {
		fmt.Fprintf(os.Stderr, format+"\n", args...)
		broken++
	}
	for _, name := range project.ServiceNames() {
		checkService(project.Services[name], func(format string, args ...any) { breach(name+": "+format, args...) })
	}
	if err := os.Unsetenv("POSTGRES_PASSWORD"); err != nil {
		return err
	}
	logrus.SetOutput(io.Discard) // it warns of what is unset
	if open, err := load(file); err == nil {
		breach("%d services load without POSTGRES_PASSWORD; require it", len(open.Services))
	}
	if broken > 0 {
		return fmt.Errorf("%d rules broken", broken)
	}
	fmt.Printf("%d services: as they should be\n", len(project.Services))
	return nil
}

// checkService says what of a service is not as every service must be.
func checkService(s types.ServiceConfig, breach func(format string, args ...any)) {
	must := func(is bool, format string, args ...any) {
		if !is {
			breach(format, args...)
		}
	}
	_, tag, _ := strings.Cut(s.Image, ":")
	must(tag != "" && tag != "latest", "image %q names no version", s.Image)
	for _, port := range s.Ports {
		must(port.HostIP == "127.0.0.1", "port %s is published on %q; loopback only", port.Published, port.HostIP)
	}
	must(s.Restart != "" && s.Restart != types.RestartPolicyNo, "has no restart policy")
	healthy := s.HealthCheck != nil && !s.HealthCheck.Disable
	must(healthy || s.Restart != types.RestartPolicyUnlessStopped, "runs on and has no health check")
	must(slices.Equal(s.CapDrop, []string{"ALL"}) && len(s.CapAdd) == 0 && !s.Privileged, "keeps capabilities")
	must(slices.Contains(s.SecurityOpt, "no-new-privileges:true"), "may gain privileges")
	must(s.ReadOnly || len(s.Configs) > 0, "has a writable root and no reason for it")
	for name := range s.Environment {
		key := strings.HasSuffix(name, "_API_KEY") || strings.HasSuffix(name, "_API_KEY_FILE") || strings.HasSuffix(name, "_BASE_URL")
		must(!key || s.Name == "worker", "gets %s; keys are for workers only", name)
	}
	// A browser on the host reaches what listens in a container, published or not.
	guarded := s.NetworkMode == "service:ui" && len(s.Configs) > 0 && len(s.Ports) == 0
	must(guarded || !strings.HasPrefix(s.Image, "temporalio/ui:"), "is reached without `worker ui`")
}
