package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"everstep/activities/scripted"
	"everstep/domain"
	"everstep/starter/client"
	"everstep/starter/devserver"
)

//go:embed demo.yaml
var demoScript []byte

func demoCommand(p *program) *cobra.Command {
	var dir string
	command := &cobra.Command{
		Use:   "demo",
		Short: "See an agent outlive its worker: no key, no server, no network",
		Long: `An agent looks through a folder with real file tools and reports what it found.
In the middle of a step its worker, a process of its own, is killed with SIGKILL.
A second worker takes over, and the agent goes on where it was.

It needs no key: the model plays a script, which quotes what the tools really
found. It needs no server: Temporal's own dev server is found, fetched or built.
It reads files and changes none. The report goes to standard output.`,
		Example: `  starter demo
  starter demo --dir ./project > report.md`,
		Args: noArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			return p.demo(command.Context(), dir)
		},
	}
	command.Flags().StringVar(&dir, "dir", "", "`FOLDER` that the agent looks through; the current one unless given")
	return command
}

// A demo is the server, the agent and the two workers of the command.
type demo struct {
	program *program
	dir     string
	began   time.Time
	lease   *leaseKeeper
	server  *server
	scratch string
	spec    workerSpec
	worker  *workerProcess
	agent   client.Execution
}

func (p *program) demo(ctx context.Context, folder string) error {
	if len(p.shared) > 0 && !onlyState(p.shared) {
		return usage("address, namespace, profile: demo runs on a dev server of its own; leave them out")
	}
	dir, err := p.demoFolder(folder)
	if err != nil {
		return err
	}
	d := &demo{program: p, dir: dir}
	defer d.close()
	if err := d.bringUp(ctx); err != nil {
		return err
	}
	told, err := d.run(ctx)
	if err != nil {
		d.abandon(ctx)
		if ctx.Err() != nil {
			return detached("interrupted; the demo's agent was ended with it")
		}
		return err
	}
	if p.flags.json {
		return p.json(told)
	}
	p.answer(told.Report)
	d.sumUp(told)
	return nil
}

// demoFolder is the folder to look through. Only the flag names it: a variable
// for other commands should not choose what a demo shows.
func (p *program) demoFolder(flag string) (string, error) {
	if flag == "" {
		flag = "."
	}
	return p.folder(flag)
}

// bringUp gets a server and starts the first worker.
func (d *demo) bringUp(ctx context.Context) error {
	p := d.program
	var err error
	if d.lease, err = p.lease(ctx, devserver.Config{}); err != nil {
		return err
	}
	d.began = time.Now()
	local := d.lease.Server()
	queue := "demo-" + uuid.NewString()
	if d.server, err = p.dial(ctx, ofDevServer(local), &local, queue); err != nil {
		return err
	}
	if d.scratch, err = os.MkdirTemp("", "everstep-demo-"); err != nil {
		return fmt.Errorf("make a folder for the script: %w", err)
	}
	if err := os.WriteFile(d.script(), demoScript, 0o600); err != nil {
		return fmt.Errorf("write the script: %w", err)
	}
	d.spec = workerSpec{
		address: local.Address, namespace: local.Namespace, taskQueue: queue, dir: d.dir, state: local.StateFile,
		storage: p.storage(local.StateFile), environment: p.env.forWorker(),
	}
	if d.spec.executable, err = p.executable(); err != nil {
		return err
	}
	d.worker, err = startWorker(d.spec)
	if err != nil {
		return fmt.Errorf("worker: cannot be started: %w", err)
	}
	d.say("a worker runs as process %d, in %s", d.worker.PID(), d.dir)
	return nil
}

func (d *demo) script() string { return filepath.Join(d.scratch, "demo.yaml") }

// demoPrompt is what the agent is asked.
func demoPrompt(dir string) string {
	return fmt.Sprintf("Look through the files in the folder %s and report what is there.", oneLine(filepath.Base(dir)))
}

// start starts the agent.
func (d *demo) start(ctx context.Context) error {
	var err error
	d.agent, err = d.server.agents.Start(ctx, client.Start{
		Prompt: demoPrompt(d.dir),
		Definition: domain.Definition{
			Model:        domain.LLMConfig{Provider: scripted.Name, Model: d.script()},
			SystemPrompt: "You look through folders and report what you find. You read and change nothing.",
			Tools:        []string{"list_files", "read_file", "search_files"},
		},
	})
	return err
}

// say tells what the demo itself does.
func (d *demo) say(format string, args ...any) { d.program.say("demo: "+format, args...) }

// abandon ends an agent that nobody would go on with: its queue is its own.
func (d *demo) abandon(ctx context.Context) {
	if d.agent.WorkflowID == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_ = d.server.temporal.TerminateWorkflow(ctx, d.agent.WorkflowID, "", "the demo was left") // it may have ended
}

func (d *demo) close() {
	if d.worker != nil {
		d.worker.Kill() // nothing is left to do for it
	}
	if d.server != nil {
		d.server.close()
	}
	if d.scratch != "" {
		_ = os.RemoveAll(d.scratch) // a temporary one
	}
	if d.lease != nil {
		d.lease.Close()
	}
}
