// Package files gives agents tools for the files of one folder: list_files,
// read_file, search_files, write_file and edit_file.
//
// Its main type is Root. Its one rule: nothing outside the folder is reached,
// whatever path a model gives and whatever links the folder holds; the
// operating system enforces it, through os.Root. A link that stays inside may
// be read through.
//
// Every tool is bounded: how many entries it visits, how much of a file it
// reads, how much it answers. Where a bound was met, the answer says so in a
// line in square brackets.
package files
