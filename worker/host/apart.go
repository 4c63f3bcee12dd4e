package host

import (
	"os"
	"path/filepath"

	"everstep/activities/shell"
	"everstep/worker/host/statefile"
)

// Kept are what a worker's configuration names of the places where workers keep something: the storage, the records, the
// state file of a dev server, and a worker's seat.
type Kept struct{ Storage, Records, State, Seat string }

// Apart makes sure that agents, who read and write the files of dir, reach nothing that workers keep: none of it may lie
// in dir, nor dir in the storage or the records, through no link. What does not exist yet lies where it would be
// made. Its error names the field and both places; empty names and buckets lie nowhere.
func Apart(dir string, all Kept) error {
	if dir == "" {
		return nil
	}
	if below("/proc/self", dir) {
		return invalid("dir: %s holds /proc, where agents would read what workers have in memory, keys too; name a folder with --dir (EVERSTEP_DIR)", dir)
	}
	for _, kept := range []struct{ field, variable, name, holds string }{
		{"storage", "EVERSTEP_STORAGE", all.Storage, "conversations and whole results"},
		{"records", RecordsVariable, RecordsPlace(all.Storage, all.Records), "the executions that have ended"},
		{"state", "EVERSTEP_STATE", all.State, "all agents, and could approve their own calls"},
		{"seat", "EVERSTEP_SEAT", all.Seat, "what workers tell the server"},
	} {
		path, _ := storagePath(kept.name) // whoever opens it says what is wrong with it
		how := "lies in"
		switch {
		case path == "":
			continue
		case below(path, dir):
		case below(dir, path):
			how = "holds"
		default:
			continue
		}
		return invalid("%s: %s %s %s, where agents read and write files, so they would reach %s; name another folder with --%s (%s), or let them work in another with --dir (EVERSTEP_DIR)",
			kept.field, path, how, dir, kept.holds, kept.field, kept.variable)
	}
	return nil
}

// states are the state files of dev servers of this machine that agents could have to do with.
func (c Config) states() (files []string) {
	if c.Connection.State != "" {
		files = append(files, c.Connection.State)
	}
	file, err := statefile.Default()
	if err == nil && file != c.Connection.State {
		if _, err = os.Stat(filepath.Dir(file)); err == nil {
			files = append(files, file)
		}
	}
	return files
}

// unseen are the places of what no command of an agent reads: keys, and what workers keep. Of a state file it is the whole
// folder, unless agents or their programs have to do with what else is there.
func (c Config) unseen(dir string) []string {
	all := c.keyFiles()
	for _, name := range []string{c.Storage, RecordsPlace(c.Storage, c.Records)} {
		if path, _ := storagePath(name); path != "" {
			all = append(all, path)
		}
	}
	if seat, err := c.Connection.seatFile(c.TaskQueue); seat != "" && err == nil {
		all = append(all, seatsFrom(seat)...)
	}
	home, _ := os.UserHomeDir() // without one nothing lies in it
	for _, file := range c.states() {
		folder := filepath.Dir(file)
		if below(dir, folder) || home != "" && below(home, folder) {
			all = append(all, statefile.Files(file)...)
		} else {
			all = append(all, folder)
		}
	}
	return all
}

// below reports whether one folder is another or in it. Where it cannot be told, it is.
func below(path, folder string) bool {
	path, bad := shell.PlaceOf(path)
	folder, worse := shell.PlaceOf(folder)
	rest, err := filepath.Rel(folder, path)
	if bad != nil || worse != nil || err != nil {
		return true
	}
	return filepath.IsLocal(rest)
}
