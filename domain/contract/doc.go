// Package contract is what crosses between clients, the workflow and its
// activities: names, requests, replies, views, and what a run hands to the next.
//
// Its one rule: whatever stands here is recorded, and read by the build that has
// recorded it.
//
// Begin with contract.go, which has every name with the types that go with it.
package contract
