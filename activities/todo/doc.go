// Package todo has the tool todo: a list of what is to be done, which the model writes and
// reads and the session keeps. Start reading at Tool.
package todo
