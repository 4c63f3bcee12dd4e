// Package conversation is what an agent and its model have said to each other,
// as the loop works with it: the transcript, what of it is hidden, how many
// tokens the next inference will read, and when and how it is made shorter.
//
// Its main type is [Conversation], a value: every change returns another one and
// leaves its receiver as it was. What a worker knows of the agent and its model
// is an argument, for it may change between two inferences.
//
// The one rule: what is decided never depends on where a run began. A
// conversation that was carried to the next run decides as it would have in the
// one before, although most of its messages have left memory.
//
// Start reading with conversation.go; tokens.go estimates, compaction.go makes
// shorter, messagesummary.go is what stays known of messages that are gone, and
// carry.go is what one run hands to the next.
package conversation
