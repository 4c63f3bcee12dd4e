// Package accountcheck proves that an agent's account is one: what the workflow of a worker would answer after a workflow
// task is what a replay of the history tells that ends with that task. Start at [Recorder] and [Compare].
package accountcheck
