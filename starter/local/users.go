package local

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// firstPerson is where the ids of people begin; those below are of the system's services.
const firstPerson = 1000

// anotherUser reports whether another person than this process's user can be on this machine: one has an account to log
// in to, or a process.
func anotherUser() bool {
	accounts, _ := os.ReadFile("/etc/passwd") // without one there are no accounts
	if mayLogIn(string(accounts), os.Geteuid()) {
		return true
	}
	processes, _ := filepath.Glob("/proc/[0-9]*/status") // elsewhere than on Linux there is none
	return slices.ContainsFunc(processes, func(process string) bool {
		status, _ := os.ReadFile(process) // it may have ended
		uid, known := ownerOf(string(status))
		return known && isAnother(uid, os.Geteuid())
	})
}

// mayLogIn reports whether one of the accounts of a file of passwords is another person's and has a shell.
func mayLogIn(accounts string, own int) bool {
	for line := range strings.Lines(accounts) {
		fields := strings.Split(strings.TrimSpace(line), ":")
		if len(fields) < 7 {
			continue
		}
		uid, err := strconv.Atoi(fields[2])
		if shell := path.Base(fields[6]); err == nil && isAnother(uid, own) && shell != "nologin" && shell != "false" {
			return true
		}
	}
	return false
}

func isAnother(uid, own int) bool { return uid >= firstPerson && uid != own }

// ownerOf is the user whose process has a status in /proc.
func ownerOf(status string) (uid int, known bool) {
	_, ids, _ := strings.Cut(status, "\nUid:\t")
	real, _, _ := strings.Cut(ids, "\t")
	uid, err := strconv.Atoi(real)
	return uid, err == nil
}
