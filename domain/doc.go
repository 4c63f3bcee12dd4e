// Package domain is what an agent execution is: its words, its rules and its
// wire forms. It knows nothing of Temporal, and does no I/O: workflows decide
// with it, activities act on its requests, and both meet only here.
//
// Its main type is [AgentState], the state of one agent as a value, in two
// layers: the session, which lives across executions, and the execution, from
// its beginning until the next begins. The transcript of a running agent is a
// [Log]; what the model sees of it is chosen by [CompileEdited].
//
// The one rule: state is a value, and every change is a function from one state
// and one fact to the next state. Times, in UTC, and ids are facts too, so they
// are arguments; nothing here reads a clock or a random source. Records
// outlive a build: their files name the number of their form.
//
// Start reading with agentstate.go, then execution.go, steps.go and stopping.go,
// which are the life of an execution in order; error.go has the one error type,
// and wire.go how a saved state looks. Package contract holds every name that is
// on the wire, conversation what the loop derives from a transcript, hook what may
// be put into the loop, and account what is read of an agent.
//
// The laws, each decided in one place and held by a property over random runs. The one of workflows plays whole lives of agents,
// whose models, tools, workers, store and people do whatever is drawn:
//
//	law                                             decided by                       property
//	an execution that should end ends               AgentState.ShouldStop            TestTheLawsHoldInEveryWorld
//	an execution's events are whole                 Event                            TestTheLawsHoldInEveryWorld
//	each call has one result in what is sent        CompileEdited                    TestTheLawsHoldInEveryWorld, TestCompileLaws
//	the signal of the first priority counts         CountingSignal                   TestCountingSignalLaws
//	what was spent is counted, none beyond a limit  Ledger.Reached, Ledger.Free      TestTheLawsHoldInEveryWorld
//	a session's executions keep to its totals       Ledger.Totals                    TestTheLawsHoldInEveryWorld, TestASessionIsNeverOverdrawn
//	a tree never overdraws its root                 ExecutionBudget.Answered         TestTheLawsHoldInEveryWorld, TestATreeIsNeverOverdrawn
//	a sub-agent's last report counts, once          mailbox.Mailbox                  TestTheLastReportOfASubagentCounts
//	what runs is what was shown                     Wait.Runs                        TestTheLawsHoldInEveryWorld
//	each wait has one end                           Wait.Answered                    TestTheLawsHoldInEveryWorld
//	an effect happens at most once                  Effect.Repeatable, Wait.Blocks   TestTheLawsHoldInEveryWorld
//	messages are read once, in their order          mailbox.Mailbox                  TestTheLawsHoldInEveryWorld
//	what is asked twice is done once                contract.Answers                 TestTheLawsHoldInEveryWorld
//	nothing begins in a pause or after a stop       mailbox.Admit                    TestTheLawsHoldInEveryWorld
//	marks of messages are what is sent next         Edits.Mark                       TestTheLawsHoldInEveryWorld, TestMarksAreTheNextRequest
//	a request begins with the one before            conversation.Conversation        TestTheLawsHoldInEveryWorld
//	what is accepted is handed on                   contract.CheckCarried            TestTheLawsHoldInEveryWorld, TestWhatIsAcceptedIsHandedOn, TestWhatBeginsCanBeHandedOn
//	folded steps keep what was said and done        AgentState.WithStepsFolded       TestFoldedStepsKeepWhatWasSaidAndDone
//	pages of an account are the account             account.ReadRun                  TestPagesOfARunAreItsAccount
//
// Where the specification is silent:
//   - The messages of a step join the context in an act of their own
//     (WithMessages), so that a program may keep the transcript in a Log.
//   - "The step asked for tools" looks at the step in progress, else at the last
//     completed one, since the rule is evaluated after a step.
//   - An error without a kind is kept as internal. A text is UTF-8; other bytes
//     do not survive JSON.
//   - A signal of reason error that a hook asks for is the execution's own error.
//   - A model without a price costs nothing in sums; a limit of money is refused
//     for it.
package domain
