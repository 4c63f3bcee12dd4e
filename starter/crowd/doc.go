// Package crowd shows what a rate limit does: many agents work on one quota of
// requests at the same time, against a model server that refuses what exceeds
// it.
//
// [Run] is the place to start reading. The server keeps the quota as providers
// do, over any minute and, in proportion, over any second, and it is its
// counts that are reported, beside what the agents' statuses say meanwhile.
package crowd
