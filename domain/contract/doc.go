// Package contract is what crosses between clients, the workflow and its
// activities: names, requests, replies, views, and what a run hands to the next.
//
// Its one rule: whatever stands here is recorded. Names never change; a struct
// only gains fields, with omitzero, so that what was recorded once can be read
// for ever.
//
// Begin with contract.go, which has every name with the types that go with it.
package contract
