// Package transcript gives activities the conversation that their input only
// names: from the memory of the worker, else from the workflow itself by query,
// and from storage where parts of it have left the workflow's memory.
//
// Its main type is Source. Its one rule: what is handed out has the digest that
// was asked for. A cached log is compared, never trusted by its length, since a
// failed workflow task can leave one that never entered history.
//
// Start reading at Source.Fetch.
package transcript
