package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"everstep/domain"
	"everstep/worker/host"
)

// This file is all that the commands read of the environment, and all they hand
// on of it. What names a Temporal server (TEMPORAL_…) and what configures a
// worker is read by worker/host.
const (
	// variableModel is the model of commands that get no --model.
	variableModel = "EVERSTEP_MODEL"
	// variableState is the state file of the dev server.
	variableState = "EVERSTEP_STATE"
	// variableTemporal is the temporal CLI to use as dev server.
	variableTemporal = "EVERSTEP_TEMPORAL"
	// variableTaskQueue is where new agents look for workers.
	variableTaskQueue = "EVERSTEP_TASK_QUEUE"
	// variableDir is the root of the file tools.
	variableDir = "EVERSTEP_DIR"
	// variableStorage is where workers keep parts of long conversations.
	variableStorage = "EVERSTEP_STORAGE"
	// variablePrices is a worker's file of prices.
	variablePrices = "EVERSTEP_PRICES"
	// variableAddress is Temporal's own.
	variableAddress = "TEMPORAL_ADDRESS"

	variableNoColor = "NO_COLOR"
	variableColumns = "COLUMNS"
)

// An environment is where variables are read from.
type environment struct{ host.Environment }

// value is a variable; an empty one counts as none.
func (e environment) value(name string) string {
	value, _ := e.LookupEnv(name)
	return value
}

// or is what a flag said, else the variable.
func (e environment) or(flag, name string) string {
	if flag != "" {
		return flag
	}
	return e.value(name)
}

func (e environment) taskQueue(flag string) (string, error) {
	queue := e.or(flag, variableTaskQueue)
	if queue == "" {
		return domain.DefaultTaskQueue, nil
	}
	if err := host.CheckName(queue); err != nil {
		return "", usage(fmt.Sprintf("--task-queue (%s): %s", variableTaskQueue, err))
	}
	return queue, nil
}

// columns is the width that the user asked for, zero where there is none.
func (e environment) columns() int {
	columns, err := strconv.Atoi(e.value(variableColumns))
	if err != nil {
		return 0
	}
	return columns
}

// prices is the file of prices, absolute. It is empty where none is named.
func (e environment) prices() string { return e.file(variablePrices) }

// file is the file that a variable names, absolute: a worker may work in
// another directory.
func (e environment) file(name string) string {
	file := e.value(name)
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
func (e environment) forWorker() []string {
	keyFiles := host.KeyFileVariables()
	var kept []string
	for _, entry := range e.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		switch {
		case strings.HasPrefix(name, "TEMPORAL_"):
		case name == variableTaskQueue || name == variableDir || name == variableStorage:
		case name == variablePrices || slices.Contains(keyFiles, name):
			kept = append(kept, name+"="+e.file(name))
		default:
			kept = append(kept, entry)
		}
	}
	return kept
}
