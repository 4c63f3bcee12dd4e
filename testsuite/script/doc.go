// Package script holds the command line to what users rely on.
package script
