// Package files gives agents tools for the files of one folder: list_files,
// read_file, search_files, write_file and edit_file.
//
// Its main type is Root. Its one rule: nothing outside the folder is reached,
// whatever path a model gives and whatever links the folder holds; the operating
// system enforces it, through os.Root. Every tool is bounded, and its answer says
// where a bound was met, in a line in square brackets.
package files
