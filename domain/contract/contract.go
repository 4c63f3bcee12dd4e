package contract

// The wire names of Everstep. They are recorded or typed by users.

// An Activity names work done outside the workflow and fixes its input and output types on both sides.
type Activity[In, Out any] string

// A Query names a question to a workflow and fixes its input and answer.
type Query[In, Out any] string

// A Signal names a message that a workflow takes without answering, and fixes what its sender writes.
type Signal[In any] string

// An Update names a change asked of a workflow and fixes its input and answer.
type Update[In, Out any] string

// A Workflow names a workflow and fixes its input and result.
type Workflow[In, Out any] string

const (
	// Execute is one execution of an unnamed agent, or an open session of a named one.
	Execute Workflow[SessionInput, Outcome] = "agent.Execute"

	// Scheduled is one run of a schedule, which begins an execution and lives as long as that.
	Scheduled Workflow[ScheduledInput, ScheduledRun] = "agent.Scheduled"

	// Send gives the open session of a named agent a message of a schedule's.
	Send Activity[SessionMessage, SessionReply] = "agent.Send"
	// Follow waits for the end of an execution of a named agent, or for some time.
	Follow Activity[FollowRequest, FollowReply] = "agent.Follow"

	// CallModel makes one inference.
	CallModel Activity[ModelRequest, ModelReply] = "agent.CallModel"
	// CallTool makes one tool call.
	CallTool Activity[ToolRequest, ToolReply] = "agent.CallTool"
	// VerifyCall asks a tool what became of a call whose outcome is unknown.
	VerifyCall Activity[ToolRequest, VerifyReply] = "agent.VerifyCall"
	// Bind opens a session with a stateful MCP server for one agent, on the worker that takes it.
	Bind Activity[BindRequest, Bound] = "agent.Bind"
	// Unbind ends one, on the worker that has it.
	Unbind Activity[UnbindRequest, UnbindReply] = "agent.Unbind"
	// ListTools adds to a session what only the worker knows.
	ListTools Activity[ResolveRequest, Resolved] = "agent.ListTools"
	// Record writes a range of the transcript to the configured storage.
	Record Activity[RecordRequest, Segment] = "agent.Record"
	// CallHook runs a hook that is an activity.
	CallHook Activity[HookRequest, HookReply] = "agent.CallHook"
	// CheckOutput checks a text against a response format.
	CheckOutput Activity[OutputRequest, OutputReply] = "agent.CheckOutput"

	// QueryMessages answers the transcript that this run holds, by page, to activities.
	QueryMessages Query[MessagesRequest, MessagesPage] = "messages"

	// SignalStop asks the execution in progress to stop.
	SignalStop Signal[StopRequest] = "stop"

	// SignalReport tells the agent that has started a sub-agent that this waits for people, goes on, or asks for more.
	SignalReport Signal[ChildReport] = "report"
	// SignalGrant answers a report that asks.
	SignalGrant Signal[Grant] = "grant"

	// UpdateAwait waits for the end of an execution. All who wait for the same one share an update, whose id [AwaitID] says.
	UpdateAwait Update[AwaitRequest, AwaitReply] = "await"

	// MemoWaiting is the memo field that says what waits for people: a Waiting.
	MemoWaiting = "waiting"
	// MemoOutcome is the memo field that says how the newest execution ended.
	MemoOutcome = "outcome"
	// MemoHead is the memo field with what lists and commands need to know of the newest execution: a [HeadMemo].
	MemoHead = "head"
	// MemoBuild is the memo field that says which builds of Everstep have run the agent, in [Builds].
	MemoBuild = "build"
	// MemoResolution is the memo field that says, in a workflow that only resolves a call, what ended before: an EndedRun.
	MemoResolution = "resolution"
	// MemoScheduled is the memo field in which a run of a schedule says what it has begun, and what came of it: a
	// ScheduledRun.
	MemoScheduled = "scheduled_run"

	// AttributeAgentName is the search attribute that holds an agent's name.
	AttributeAgentName = "AgentName"
	// AttributeAgentStatus is the search attribute that holds the status of the newest execution.
	AttributeAgentStatus = "AgentStatus"
	// AttributeStopReason is the search attribute that holds why the newest execution ended.
	AttributeStopReason = "StopReason"

	// AttributeTrusted is the search attribute, a list, that holds those of an agent's trusted values that may be
	// indexed, each as name=value.
	AttributeTrusted = "AgentTrusted"

	// ScheduledIDPrefix comes before a schedule's name in the workflow ids of its runs, and their time after it.
	ScheduledIDPrefix = "schedule/"

	// DefaultTaskQueue is where workers listen and agents start unless told otherwise.
	DefaultTaskQueue = "everstep"
)
