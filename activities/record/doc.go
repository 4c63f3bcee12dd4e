// Package record keeps executions that have ended, beyond what the server keeps of them: in a directory, or in a
// bucket of gocloud.dev/blob.
//
// Its main types are [Record], an execution with its steps, messages and events, [Position], where its session was moved to
// since, and [Store], which keeps them. Its one rule:
// what is read is whole and as it was written, or an error; a digest stands beside each record, and an end after the
// last. Kept records and exported files have one form, which [Write] writes and [All] reads.
//
// Start reading at [Record] and at [Store.Record].
package record
