package local

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"everstep/domain/contract"
	"everstep/starter/client"
	"everstep/worker/host"
)

// This file is all that the commands read of the environment, and all they hand
// on of it. What names a Temporal server (TEMPORAL_…) and what configures a
// worker is read by worker/host.
const (
	// VariableModel is the model of commands that get no --model.
	VariableModel = "EVERSTEP_MODEL"
	// VariableState is the state file of the dev server.
	VariableState = "EVERSTEP_STATE"
	// VariableTemporal is the temporal CLI to use as dev server.
	VariableTemporal = "EVERSTEP_TEMPORAL"
	// VariableTaskQueue is where new agents look for workers.
	VariableTaskQueue = "EVERSTEP_TASK_QUEUE"
	// VariableDir is the root of the file tools.
	VariableDir = "EVERSTEP_DIR"
	// variableStorage is where workers keep parts of long conversations.
	variableStorage = "EVERSTEP_STORAGE"
	// VariablePrices is a worker's file of prices.
	VariablePrices = "EVERSTEP_PRICES"
	// VariableAddress is Temporal's own.
	VariableAddress = "TEMPORAL_ADDRESS"

	VariableNoColor = "NO_COLOR"
	variableColumns = "COLUMNS"
)

// An Environment is where variables are read from.
type Environment struct{ host.Environment }

// Value is a variable; an empty one counts as none.
func (e Environment) Value(name string) string {
	value, _ := e.LookupEnv(name)
	return value
}

// or is what a flag said, else the variable.
func (e Environment) or(flag, name string) string {
	if flag != "" {
		return flag
	}
	return e.Value(name)
}

func (e Environment) taskQueue(flag string) (string, error) {
	queue := e.or(flag, VariableTaskQueue)
	if queue == "" {
		return contract.DefaultTaskQueue, nil
	}
	if err := host.CheckName(queue); err != nil {
		return "", invalid(fmt.Sprintf("--task-queue (%s): %s", VariableTaskQueue, err))
	}
	return queue, nil
}

// Columns is the width that the user asked for, zero where there is none.
func (e Environment) Columns() int {
	columns, err := strconv.Atoi(e.Value(variableColumns))
	if err != nil {
		return 0
	}
	return columns
}

// prices is the file of prices, absolute. It is empty where none is named.
func (e Environment) prices() string { return e.file(VariablePrices) }

// file is the file that a variable names, absolute: a worker may work in
// another directory.
func (e Environment) file(name string) string {
	file := e.Value(name)
	if file == "" {
		return ""
	}
	if absolute, err := filepath.Abs(file); err == nil {
		return absolute
	}
	return file
}

// forWorker is what a worker for a dev server of ours gets: without what names
// another server, and without what its flags say.
func (e Environment) forWorker() []string {
	keyFiles := host.KeyFileVariables()
	var kept []string
	for _, entry := range e.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		switch {
		case strings.HasPrefix(name, "TEMPORAL_"):
		case name == VariableTaskQueue || name == VariableDir || name == variableStorage:
		case name == VariablePrices || slices.Contains(keyFiles, name):
			kept = append(kept, name+"="+e.file(name))
		default:
			kept = append(kept, entry)
		}
	}
	return kept
}

// invalid is the error of flags and variables that are wrong.
func invalid(text string) error { return &client.Error{Class: client.Invalid, Message: text} }
