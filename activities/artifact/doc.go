// Package artifact keeps whole what is too long for a model to read at once, in the
// storage, and has the tool read_artifact that reads it by range. An artifact is of one
// agent, whom alone its tool serves; it stays as long as the storage keeps it. So do
// images that are too large to be recorded. Start reading at Store.
package artifact
