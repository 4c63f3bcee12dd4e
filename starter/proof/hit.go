package proof

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/contract"
)

// A hit says that a worker has reached a boundary, or asks what a tool is to
// return.
type hit struct {
	PID         int                `json:"pid"`
	Boundary    contract.Boundary  `json:"boundary,omitzero"`
	WorkflowID  string             `json:"workflow_id"`
	ExecutionID domain.ExecutionID `json:"execution_id,omitzero"`
	Step        int                `json:"step,omitzero"`
	// AgentID stands for WorkflowID where that is not known.
	AgentID domain.AgentID `json:"agent_id,omitzero"`
	// Summary is set for an inference that sums up.
	Summary bool `json:"summary,omitzero"`
	// Hook is set for hooks that are activities; see hookKey.
	Hook string `json:"hook,omitzero"`
	// Call and Position are set for tool calls.
	Call     domain.ToolExecutionID `json:"tool_execution_id,omitzero"`
	Position int                    `json:"position,omitzero"`
}

// An answer lets the worker go on.
type answer struct {
	// Result is what the tool is to return, where Known.
	Result string `json:"result,omitzero"`
	Known  bool   `json:"known,omitzero"`
}

// A line is the worker's end of the socket; each question has a connection of
// its own.
type line struct{ socket string }

// ask returns the answer, or an error where there is none to come.
func (l line) ask(h hit) (answer, error) {
	conn, err := net.Dial("unix", l.socket)
	if err != nil {
		return answer{}, fmt.Errorf("reach the controller: %w", err)
	}
	defer conn.Close()
	var a answer
	if err := json.NewEncoder(conn).Encode(h); err != nil {
		return a, fmt.Errorf("tell the controller: %w", err)
	}
	if err := json.NewDecoder(bufio.NewReader(conn)).Decode(&a); err != nil {
		return a, fmt.Errorf("hear the controller: %w", err)
	}
	return a, nil
}

// listen answers questions until the listener is closed. decide reports false
// where the worker gets no answer, since it is being killed.
func listen(listener net.Listener, decide func(hit) (answer, bool)) error {
	for {
		conn, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("listen to workers: %w", err)
		}
		go func() {
			defer conn.Close()
			var h hit
			if json.NewDecoder(bufio.NewReader(conn)).Decode(&h) != nil {
				return // it was killed while it spoke
			}
			if a, goOn := decide(h); goOn {
				_ = json.NewEncoder(conn).Encode(a) // it may be gone
			}
		}()
	}
}

// at tells the controller where the worker is, and returns when it may go on.
func (p plan) at(ctx context.Context, boundary contract.Boundary) {
	h := placed(ctx)
	h.Boundary = boundary
	p.ask(h)
}

// ask returns the controller's answer. Where there is none, this process is
// about to be killed: it waits for that.
func (p plan) ask(h hit) answer {
	a, err := line{p.Socket}.ask(h)
	if err == nil {
		return a
	}
	const patience = 10 * time.Second
	time.Sleep(patience)
	fmt.Fprintln(os.Stderr, "the controller neither answers nor kills:", err)
	os.Exit(1)
	return answer{}
}

// placed is a hit of this process, as far as the context tells.
func placed(ctx context.Context) hit {
	place := contract.PlaceOf(ctx)
	h := hit{PID: os.Getpid(), WorkflowID: place.WorkflowID, ExecutionID: place.ExecutionID, Step: place.Step, Summary: place.Summary}
	if call, ok := tool.ExecutionOf(ctx); ok {
		h.Call, h.Position = call.ID, call.Position
	}
	return h
}
