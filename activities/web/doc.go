// Package web gives agents tools for HTTP: http_get, which is read-only, and
// http_post, which is at-most-once.
//
// Its main type is Client. Its one rule: nothing of the worker's own machine and
// network is reached unless the configuration names it, however an address is
// written and wherever a name or a redirect leads. It is the address that is dialled
// which decides, at the moment when it is dialled; see address.go.
package web
