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
	var wrong []string
	for _, name := range project.ServiceNames() {
		for _, text := range checkService(project.Services[name]) {
			wrong = append(wrong, name+": "+text)
		}
	}
	if open, err := loadWithout(file, "POSTGRES_PASSWORD"); err == nil {
		wrong = append(wrong, fmt.Sprintf("%d services load without POSTGRES_PASSWORD; require it", len(open.Services)))
	}
	for _, text := range wrong {
		fmt.Fprintln(os.Stderr, text)
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%d rules broken", len(wrong))
	}
	fmt.Printf("%d services, %d rules each: as they should be\n", len(project.Services), len(rules))
	return nil
}

func loadWithout(file, variable string) (*types.Project, error) {
	if err := os.Unsetenv(variable); err != nil {
		return nil, err
	}
	logrus.SetOutput(io.Discard) // it warns of what is unset
	return load(file)
}

// rules say what every service must be; each returns what is wrong, or nothing.
var rules = []func(types.ServiceConfig) string{
	func(s types.ServiceConfig) string {
		_, tag, _ := strings.Cut(s.Image, ":")
		if tag == "" || tag == "latest" {
			return fmt.Sprintf("image %q names no version", s.Image)
		}
		return ""
	},
	func(s types.ServiceConfig) string {
		for _, port := range s.Ports {
			if port.HostIP != "127.0.0.1" {
				return fmt.Sprintf("port %s is published on %q; loopback only", port.Published, port.HostIP)
			}
		}
		return ""
	},
	func(s types.ServiceConfig) string {
		if s.Restart == "" || s.Restart == types.RestartPolicyNo {
			return "has no restart policy"
		}
		return ""
	},
	func(s types.ServiceConfig) string {
		if s.Restart == types.RestartPolicyUnlessStopped && (s.HealthCheck == nil || s.HealthCheck.Disable) {
			return "runs on and has no health check"
		}
		return ""
	},
	func(s types.ServiceConfig) string {
		if !slices.Equal(s.CapDrop, []string{"ALL"}) || len(s.CapAdd) > 0 || s.Privileged {
			return "keeps capabilities"
		}
		return ""
	},
	func(s types.ServiceConfig) string {
		if !slices.Contains(s.SecurityOpt, "no-new-privileges:true") {
			return "may gain privileges"
		}
		return ""
	},
	func(s types.ServiceConfig) string {
		if !s.ReadOnly && len(s.Configs) == 0 {
			return "has a writable root and no reason for it"
		}
		return ""
	},
	func(s types.ServiceConfig) string {
		for name := range s.Environment {
			for _, vendor := range []string{"OPENAI_", "ANTHROPIC_", "GEMINI_"} {
				if strings.HasPrefix(name, vendor) && s.Name != "worker" {
					return "gets " + name + "; keys are for workers only"
				}
			}
		}
		return ""
	},
	doors,
}

// A browser on the host reaches what listens in a container, published or not.
func doors(s types.ServiceConfig) string {
	if strings.HasPrefix(s.Image, "temporalio/ui:") && (s.NetworkMode != "service:ui" || len(s.Configs) == 0 || len(s.Ports) > 0) {
		return "is reached without `worker ui`"
	}
	return ""
}

func checkService(s types.ServiceConfig) []string {
	var wrong []string
	for _, rule := range rules {
		if text := rule(s); text != "" {
			wrong = append(wrong, text)
		}
	}
	return wrong
}
