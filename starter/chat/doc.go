// Package chat is a conversation with an agent on a terminal: what was said above, what goes on now below it, and a place
// to type.
//
// Its main type is [Model], which takes what happens one after the other: keys, events of the agent, answers to what was
// asked of it. It does nothing by itself: what it wants done are values of type want, which perform.go does with the
// client, and run.go reads the agent. So all of it but these two is tested without a terminal and without a server.
//
// Its one rule: what a model, a tool or a person wrote is cleaned where it is drawn, and no text that was typed is lost
// without a word: it stays in its place until the session has it, and what it never got is handed back at the end.
//
// Start reading with model.go, then conversation.go and view.go (the screen).
package chat
