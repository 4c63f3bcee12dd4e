// Package waiting has tools that wait: sleep for a time, and wait_until a moment. The wait
// is a timer of the agent's workflow, so it holds no worker, outlives all of them, and is
// ended by any stop. It counts in the execution's max_seconds.
package waiting
