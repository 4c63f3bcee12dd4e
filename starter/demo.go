package main

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"everstep/activities/scripted"
	"everstep/domain"
	"everstep/starter/client"
	"everstep/starter/devserver"
	"everstep/starter/kill"
	"everstep/starter/local"
	"everstep/starter/process"
	"everstep/starter/render"
)

//go:embed demo.yaml
var demoScript []byte

func demoCommand(p *program) *cobra.Command {
	var folder string
	command := newCommand("demo", "See an agent outlive its worker: no key, no server, no network", `An agent looks through a folder with real file tools and reports what it found.
In the middle of a step its worker, a process of its own, is killed with SIGKILL.
A second worker takes over, and the agent goes on where it was.

It needs no key: the model plays a script, which quotes what the tools really
found. It needs no server: Temporal's own dev server is found, fetched or built.
It reads files and changes none. The report goes to standard output.`, `  starter demo
  starter demo --dir ./project > report.md`, func(ctx context.Context, _ []string) error {
		if err := p.withoutServer("demo runs on a dev server of its own"); err != nil {
			return err
		}
		// Only the flag names it: a variable for other commands should not choose a demo's.
		dir, err := p.machine.Folder(cmp.Or(folder, "."))
		if err != nil {
			return err
		}
		d := &demo{program: p, dir: dir}
		defer d.close()
		working, lost := context.WithCancelCause(ctx) // until a worker ends by itself
		defer lost(nil)
		if err := d.bringUp(working, lost); err != nil {
			return err
		}
		told, err := d.run(working)
		if err != nil {
			if d.agent.WorkflowID != "" { // nobody would go on with the agent: its queue is its own
				ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
				defer cancel()
				_ = d.Temporal.TerminateWorkflow(ending, d.agent.WorkflowID, "", "the demo was left") // it may have ended
			}
			if ctx.Err() != nil {
				return detached("interrupted; the demo's agent was ended with it")
			}
			return err
		}
		if p.flags.json {
			return p.out.JSON(told)
		}
		p.out.Print(p.out.Answer(told.Report))
		d.summarize(told)
		return nil
	})
	command.Flags().StringVar(&folder, "dir", "", "`FOLDER` that the agent looks through; the current one unless given")
	return command
}

type demo struct {
	*local.Stack // nil until one is reached
	program      *program
	dir          string
	began        time.Time
	script       string
	controller   *kill.Controller
	agent        client.Execution
}

func (d *demo) bringUp(ctx context.Context, lost context.CancelCauseFunc) error {
	p := d.program
	lease, err := p.machine.Lease(ctx, devserver.Config{})
	if err != nil {
		return err
	}
	d.began = time.Now()
	up, queue := lease.Server, "demo-"+uuid.NewString()
	if d.Stack, err = p.machine.DialDev(ctx, up, queue); err != nil {
		lease.Close()
		return err
	}
	d.Lease = lease
	// It stands beside the server's state, the same for all demos: one that is killed leaves no file of its own.
	d.script = strings.TrimSuffix(up.StateFile, ".db") + ".demo.yaml"
	err = writeWhole(d.script, func(w io.Writer) error {
		_, err := w.Write(demoScript)
		return err
	})
	if err != nil {
		return fmt.Errorf("write the script: %w", err)
	}
	spec, err := p.machine.WorkerSpec(up, queue, d.dir)
	if err != nil {
		return err
	}
	var worker *local.WorkerProcess // the controller calls one function after the other
	d.controller, err = kill.Start(func() (*process.Process, error) {
		var err error
		if worker, err = local.StartWorker(spec); err != nil {
			return nil, err
		}
		return worker.Process, nil
	}, func(state *os.ProcessState) {
		lost(fmt.Errorf("worker: it has ended by itself: %s%s", state, worker.Tail()))
	})
	if err != nil {
		return err
	}
	d.say("a worker runs as process %d, in %s", d.controller.PID(), d.dir)
	return nil
}

func demoPrompt(dir string) string {
	return fmt.Sprintf("Look through the files in the folder %s and report what is there.", render.OneLine(filepath.Base(dir)))
}

func (d *demo) say(format string, args ...any) { d.program.say("demo: "+format, args...) }

func (d *demo) close() {
	if d.controller != nil {
		d.controller.Close() // nothing is left to do for the worker
	}
	if d.Stack != nil {
		d.Close()
	}
}

type demoReport struct {
	client.Execution
	Status domain.ExecutionStatus `json:"status"`
	Steps  int                    `json:"step_count"`
	Report string                 `json:"report"`
	Dir    string                 `json:"dir"`

	Killed    demoKill `json:"killed"`
	Seconds   float64  `json:"seconds"` // how long it all took once the server was up
	UIURL     string   `json:"ui_url"`
	StateFile string   `json:"state_file"`
}

type demoKill struct {
	PID      int `json:"pid"`
	TookOver int `json:"took_over_pid"` // the second worker's process
	// Step is when it was killed and what went on; During is what was under way.
	Step      int     `json:"step"`
	During    string  `json:"during"`
	StepsKept int     `json:"steps_not_repeated"` // as CallsKept: done by then, and not done again
	CallsKept int     `json:"tool_calls_not_repeated"`
	Requests  int     `json:"model_requests_repeated"` // counts the model requests that were made again
	Seconds   float64 `json:"seconds"`                 // the time from the kill until the agent went on

	made *kill.Kill // nil before it
}

func (d *demo) run(ctx context.Context) (demoReport, error) {
	var err error
	d.agent, err = d.Agents.Start(ctx, client.Start{
		Prompt: demoPrompt(d.dir),
		Definition: domain.Definition{
			Model:        domain.LLMConfig{Provider: scripted.Name, Model: d.script},
			SystemPrompt: "You look through folders and report what you find. You read and change nothing.",
			Tools:        []string{"list_files", "read_file", "search_files"},
			Approvals:    domain.ApprovalsOf("allow"),
		},
	})
	if err != nil {
		return demoReport{}, err
	}
	told := demoReport{Execution: d.agent, Dir: d.dir, UIURL: d.UI(d.agent.ID) + d.agent.RunID, StateFile: d.Lease.Server.StateFile}
	v := d.program.newView(d.agent.ID, d.UI(d.agent.ID))
	defer v.Close()
	for event, err := range d.Agents.Follow(ctx, d.agent.ID, client.FollowOptions{Number: 1}) {
		if err != nil {
			return told, cmp.Or(context.Cause(ctx), err)
		}
		v.Show(event)
		k := &told.Killed
		if k.made == nil && k.falls(event) {
			if err := d.killWorker(k); err != nil {
				return told, err
			}
			continue
		}
		switch event.Type {
		case client.EventWithdrawn, domain.EventInferenceReceived, domain.EventToolCallStarted, domain.EventToolCallCompleted, domain.EventStepStarted:
			if k.made != nil && k.made.GoesOn() { // the first thing that can only be the second worker's
				k.Seconds = inSeconds(k.made.WentOn)
				d.say("%.1f s after the kill the agent goes on, at step %d", k.Seconds, k.Step)
			}
		default:
		}
	}
	result, err := d.Agents.Wait(ctx, d.agent.ID, 1)
	if err != nil {
		return told, cmp.Or(context.Cause(ctx), err)
	}
	told.Status, told.Steps, told.Report = result.Outcome.Status, result.Outcome.Steps, result.Answer
	told.Seconds = inSeconds(time.Since(d.began))
	if told.Status != domain.StatusCompleted {
		return told, outcomeOf(result)
	}
	return told, nil
}

// falls counts what is done, and reports whether the agent is in the middle of its step.
func (k *demoKill) falls(e client.Event) bool {
	switch e.Type {
	case domain.EventStepStarted:
		k.StepsKept = e.Step - 1
	case domain.EventToolCallCompleted:
		k.CallsKept++
	case client.EventText, domain.EventToolCallStarted:
		if e.Step < 3 { // there is to be something that is kept
			return false
		}
		k.Step, k.During = e.Step, "while a tool was at work"
		if e.Type == client.EventText {
			k.During, k.Requests = "while the model was answering", 1
		}
		return true
	default:
	}
	return false
}

func (d *demo) killWorker(k *demoKill) (err error) {
	k.made, err = d.controller.Kill()
	k.PID, k.TookOver = k.made.PID, k.made.TookOver
	if p := d.program; !p.flags.quiet {
		p.err.Note(p.err.Fold(p.err.Theme.Bad(fmt.Sprintf("demo: kill -9 %d: the worker is dead, in the middle of step %d, %s", k.PID, k.Step, k.During))))
	}
	if err != nil {
		return err
	}
	d.say("a second worker runs as process %d; the server notices in about 3 s that the first one is silent", k.TookOver)
	return nil
}

func inSeconds(d time.Duration) float64 { return d.Round(10 * time.Millisecond).Seconds() }

func (d *demo) summarize(r demoReport) {
	p, k := d.program, r.Killed
	if p.flags.quiet {
		return
	}
	repeated := "the one model request that was under way"
	if k.Requests == 0 {
		repeated = "the tool call under way, which may be repeated"
	}
	t := p.err.Theme
	p.err.Printf("\n%s\n", t.Head("What you saw"))
	p.err.Facts(13, [][2]string{
		{"killed", fmt.Sprintf("worker process %d, with SIGKILL, in step %d, %s", k.PID, k.Step, k.During)},
		{"went on", fmt.Sprintf("at step %d, with worker process %d, %.1f s after the kill", k.Step, k.TookOver, k.Seconds)},
		{"not repeated", fmt.Sprintf("%s with %s: recorded, so they stand", render.Counted(k.StepsKept, "completed step"), render.Counted(k.CallsKept, "tool call"))},
		{"repeated", repeated},
		{"took", fmt.Sprintf("%.1f s in all for %s, once the server was up", r.Seconds, render.Counted(r.Steps, "step"))},
		{"look at it", r.UIURL},
	})
	if d.Lease.Server.Started {
		p.err.Print("  " + t.Faint(fmt.Sprintf("the server ends with this command; `%s` brings it back, with this execution in it", p.again("dev"))) + "\n")
	}
}
