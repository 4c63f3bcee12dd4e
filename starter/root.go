package main

import (
	"github.com/spf13/cobra"

	"everstep/starter/devserver"
	"everstep/starter/local"
	"everstep/starter/proof"
	"everstep/worker/host"
)

const programName = "starter"

// The groups in which help lists the commands.
const (
	groupAgents = "agents"
	groupLocal  = "local"
)

func newRoot(p *program) *cobra.Command {
	root := &cobra.Command{
		Use:   programName,
		Short: "Start AI agents that cannot lose a step",
		Long: `Everstep runs AI agents on Temporal: each step is recorded, so that an agent
goes on where it was when a worker, a machine or this command dies.

Without a configured server, run and watch bring up what they need on this
machine: Temporal's own dev server, and a worker. A server is configured by
--address or --profile, or as Temporal's own tools are (TEMPORAL_ADDRESS, …).

Exit codes: 0 done or completed, 1 failed or another error, 2 wrong usage,
3 stopped, 4 not found, 5 unreachable, 6 refused by the state it is in,
130 left while it goes on.`,
		Example: `  starter run --model scripted/hello.yaml "Say hello"
  starter run --id notes --model openai-chat/gpt-5-mini --tool list_files,read_file "What is in this folder?"
  starter send notes "And which file is the newest?" --wait
  starter status notes
  starter dev`,
		Version:           version(),
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.AddGroup(
		&cobra.Group{ID: groupAgents, Title: "Agents:"},
		&cobra.Group{ID: groupLocal, Title: "This machine:"},
	)
	root.SetHelpCommand(helpCommand(p))
	root.SetHelpCommandGroupID(groupLocal)
	listTopics(p, root)
	p.machine.Connection = host.ConnectionFlags(root.PersistentFlags())
	set := root.PersistentFlags()
	set.StringVar(&p.machine.State, "state", "", "the state `FILE` of the dev server ("+local.VariableState+")")
	set.BoolVar(&p.flags.json, "json", false, "answer in JSON: one value, or one a line when following")
	set.BoolVar(&p.flags.quiet, "quiet", false, "print answers and errors only")
	add(root, groupAgents,
		runCommand(p), startCommand(p), sendCommand(p), watchCommand(p), resultCommand(p), statusCommand(p),
		stepsCommand(p), explainCommand(p), messagesCommand(p), listCommand(p), stopCommand(p),
		extendCommand(p), pauseCommand(p), resumeCommand(p), closeCommand(p),
		agentsCommand(p),
	)
	add(root, groupLocal,
		devCommand(p), demoCommand(p), chaosCommand(p), crowdCommand(p), doctorCommand(p), completionCommand(p),
	)
	root.AddCommand(
		workerCommandOf(p), hiddenCommand(devserver.SupervisorCommand, devserver.Supervise), hiddenCommand(proof.ChaosWorker, proof.ChaosWork),
	)
	return root
}

func add(root *cobra.Command, group string, commands ...*cobra.Command) {
	for _, command := range commands {
		command.GroupID = group
		command.Flags().SortFlags = false
		root.AddCommand(command)
	}
}
