package chat

import (
	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
	"everstep/starter/client"
)

// A want is something that the conversation wants done. It is done beside it; what came of it comes back as a message.
type want any

type (
	// wantSend gives the agent a message. Under one key it is taken once, however often it is sent.
	wantSend struct {
		key, text string
		model     *domain.LLMConfig
		queued    bool
		// delivery says what becomes of it while a turn is in progress, and execution for which one it is, where it is
		// for one.
		delivery  contract.Delivery
		execution domain.ExecutionID
	}
	// wantUnsend takes a message back that waits.
	wantUnsend struct{ id domain.MessageID }
	// wantFork begins another agent from a step, with a message.
	wantFork struct {
		from client.Point
		text string
	}
	// wantRewind has the session go on from a step of its past.
	wantRewind struct{ to client.Point }
	// wantStop asks the turn in progress to stop.
	wantStop struct{ mode contract.StopMode }
	// wantExtend raises limits, or goes on with them; session: those of the session.
	wantExtend struct {
		options client.ExtendOptions
		session bool
	}
	// wantPause pauses the turn, or ends the pause.
	wantPause struct{ on bool }
	// wantAnswer answers what waits; typed is how the answer to a question was written.
	wantAnswer struct {
		word  client.Word
		typed string
		// of is the sub-agent whose call it is; empty: it is the agent's own.
		of string
	}
	// wantLook asks what the agent says of itself, or a sub-agent.
	wantLook struct{ of domain.AgentID }
	// wantTell asks what sub-agents did in executions that are over.
	wantTell struct{ executions []domain.ExecutionID }
	// wantLeave ends the conversation here, and nothing else.
	wantLeave struct{}
	// wantSuspend gives the terminal back to the shell for a while.
	wantSuspend struct{}
)

// What comes back, and what happens meanwhile.
type (
	// recalled are messages of the session, read back; live is the execution whose answers come as events.
	recalled struct {
		entries []domain.Entry
		live    domain.ExecutionID
		// gone says what can no longer be read, and takenBack counts those that rewinds have taken back.
		gone      string
		takenBack int
	}
	// heard is an event of the execution that is followed.
	heard struct{ client.Event }
	// looked is what the agent says of itself, or a sub-agent.
	looked struct {
		view account.Status
		err  error
		of   domain.AgentID
	}
	// retold are the events of sub-agents in executions that are over, and of the calls that have started them.
	retold struct{ events []pastEvent }
	// lost says that the agent cannot be read at the moment, or for good.
	lost struct{ why string }
	// sent is what came of the first message of the outbox.
	sent struct {
		execution client.Execution
		delivery  contract.Delivery
		err       error
	}
	// unsent is what came of taking a message back.
	unsent struct {
		id  domain.MessageID
		err error
	}
	// rewound is what came of a rewind.
	rewound struct {
		done client.Rewound
		err  error
	}
	// did is what came of anything else.
	did struct {
		what string
		err  error
	}
	// replied is what came of an answer.
	replied struct {
		want wantAnswer
		err  error
	}
	// remark is something to know that comes from elsewhere.
	remark struct {
		text  string
		warns bool
	}
	// broken says that nothing can go on here.
	broken struct{ err error }
	// tick is a second.
	tick struct{}
)

// A letter is a message that the session does not have yet. Its delivery and execution are set as it is sent.
type letter struct {
	wantSend
	underway bool
	// refused counts how often the session did not take it.
	refused int
}
