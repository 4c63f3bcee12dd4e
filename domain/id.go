package domain

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// An AgentID identifies an agent for its whole life. The zero value means none.
type AgentID struct{ uuid.UUID }

// An ExecutionID identifies one execution of an agent. The zero value means none.
type ExecutionID struct{ uuid.UUID }

// A StepID identifies one step of an execution. The zero value means none.
type StepID struct{ uuid.UUID }

// A ToolExecutionID identifies one tool call of a step. Tools may use it as an idempotency key.
type ToolExecutionID struct{ uuid.UUID }

// A MessageID identifies one message of a transcript. The zero value means none.
type MessageID struct{ uuid.UUID }

// IsZero reports whether the id is absent.
func (id AgentID) IsZero() bool { return id.UUID == uuid.Nil }

// IsZero reports whether the id is absent.
func (id ExecutionID) IsZero() bool { return id.UUID == uuid.Nil }

// IsZero reports whether the id is absent.
func (id StepID) IsZero() bool { return id.UUID == uuid.Nil }

// IsZero reports whether the id is absent.
func (id ToolExecutionID) IsZero() bool { return id.UUID == uuid.Nil }

// IsZero reports whether the id is absent.
func (id MessageID) IsZero() bool { return id.UUID == uuid.Nil }

// AgentIDOf returns the identity of the agent that users call id: a UUID, or a name, of which one is derived.
func AgentIDOf(id string) (AgentID, error) {
	if parsed, err := uuid.Parse(id); err == nil && len(id) == 36 {
		if parsed == uuid.Nil {
			return AgentID{}, Invalidf("id: the zero UUID names no agent; give a name or another UUID")
		}
		return AgentID{parsed}, nil
	}
	if err := CheckAgentName(id); err != nil {
		return AgentID{}, err
	}
	return AgentID{derived(agentSpace, "%s", id)}, nil
}

// MaxAgentName is the longest name of an agent, in bytes.
const MaxAgentName = 200

// CheckAgentName says what is wrong with a name, by its characters and length; it must not look like a UUID.
func CheckAgentName(name string) error {
	switch {
	case name == "":
		return Invalidf("id: is empty; give a name or a UUID")
	case len(name) > MaxAgentName:
		return Invalidf("id: has %d bytes; at most %d are allowed", len(name), MaxAgentName)
	}
	for i, r := range name {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if letter || i > 0 && strings.ContainsRune(".-_", r) {
			continue
		}
		return Invalidf("id: has %q at byte %d; use letters, digits, '.', '-' and '_', beginning with a letter or digit", r, i)
	}
	if _, err := uuid.Parse(name); err == nil {
		return Invalidf("id: %q looks like a UUID; a name may not", name)
	}
	return nil
}

// WorkflowID is the id under which an agent of a name, or of a UUID, runs on Temporal.
func WorkflowID(id string) string { return WorkflowIDPrefix + id }

// ScheduledAgent derives the identity of the agent that a run of a schedule has for its own. chain is the first run id of
// the run's workflow.
func ScheduledAgent(chain string) AgentID {
	return AgentID{derived(agentSpace, "scheduled/%s", chain)}
}

// Execution derives the id of the n-th execution. chain is the workflow's first run id, which stays the same.
func (id AgentID) Execution(chain string, n int) ExecutionID {
	return ExecutionID{derived(id.UUID, "%s/%d", chain, n)}
}

// Waiting derives the id of the n-th of the agent's messages that had to wait. chain is as of Execution.
func (id AgentID) Waiting(chain string, n int64) MessageID {
	return MessageID{derived(id.UUID, "%s/waiting/%d", chain, n)}
}

// Step derives the id of the execution's k-th step.
func (id ExecutionID) Step(k int) StepID { return StepID{derived(id.UUID, "step/%d", k)} }

// Prompt derives the id of the user message that begins the execution.
func (id ExecutionID) Prompt() MessageID { return MessageID{derived(id.UUID, "prompt")} }

// Message derives the id of a message between steps, at an index of the transcript.
func (id ExecutionID) Message(index int) MessageID {
	return MessageID{derived(id.UUID, "message/%d", index)}
}

// Tool derives the id of the step's tool call at a position, counted from 0.
func (id StepID) Tool(position int) ToolExecutionID {
	return ToolExecutionID{derived(id.UUID, "tool/%d", position)}
}

// Message derives the id of the step's k-th message, counted from 0.
func (id StepID) Message(k int) MessageID {
	return MessageID{derived(id.UUID, "message/%d", k)}
}

// WorkflowIDPrefix comes before an agent's name or UUID in its workflow id.
const WorkflowIDPrefix = "agent/"

var agentSpace = uuid.MustParse("8f6f3c0e-58a5-4c4b-9c0e-7a5f5d1f0a11")

// derived is the UUID of a name among those that are derived from another one.
func derived(from uuid.UUID, format string, args ...any) uuid.UUID {
	return uuid.NewSHA1(from, fmt.Appendf(nil, format, args...))
}

// A Digest names bytes: the first 16 of their SHA-256. It is not a signature. On the wire it is 22
// characters of unpadded base64url; the zero value is the empty text.
type Digest [16]byte

// DigestOf returns the digest of the parts, whose lengths count: ("ab", "c") and ("a", "bc") differ.
func DigestOf(parts ...[]byte) Digest {
	hash := sha256.New()
	var length [8]byte
	for _, part := range parts {
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		hash.Write(length[:])
		hash.Write(part)
	}
	return Digest(hash.Sum(nil)[:16])
}

// DigestOfTexts is DigestOf for texts.
func DigestOfTexts(parts ...string) Digest {
	raw := make([][]byte, len(parts))
	for i, part := range parts {
		raw[i] = []byte(part)
	}
	return DigestOf(raw...)
}

// IsZero reports whether there is no digest.
func (d Digest) IsZero() bool { return d == Digest{} }

// String returns the wire form.
func (d Digest) String() string {
	if d.IsZero() {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(d[:])
}

// MarshalText returns the wire form.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads the wire form.
func (d *Digest) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*d = Digest{}
		return nil
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(string(text))
	if err != nil || len(raw) != len(d) {
		return fmt.Errorf("digest: %q is not 22 characters of base64url", string(text))
	}
	copy(d[:], raw)
	return nil
}
