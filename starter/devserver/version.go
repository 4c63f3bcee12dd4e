package devserver

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// minServer is the oldest server that has everything the tuning needs.
const minServer = "1.29.0"

// parseVersion reads what `temporal --version` prints, for example
// "temporal version 1.5.1 (Server 1.29.1, UI 2.42.1)". A CLI from `go install`
// calls itself 0.0.0-DEV, so only the server's version says how new it is.
func parseVersion(output string) (cli, server string, err error) {
	line, _, _ := strings.Cut(strings.TrimSpace(output), "\n")
	_, rest, found := strings.Cut(line, "version ")
	cli, rest, named := strings.Cut(rest, " (Server ")
	if !found || !named {
		return "", "", fmt.Errorf("no server version in %q", clean(line))
	}
	server, _, _ = strings.Cut(rest, ")")
	server, _, _ = strings.Cut(server, ",")
	if _, err := numbers(server); err != nil {
		return "", "", err
	}
	return cli, server, nil
}

// compareVersions orders two versions by their three numbers; what follows a
// hyphen does not count, and what is no version comes first.
func compareVersions(a, b string) int {
	x, _ := numbers(a)
	y, _ := numbers(b)
	return cmp.Or(cmp.Compare(x[0], y[0]), cmp.Compare(x[1], y[1]), cmp.Compare(x[2], y[2]))
}

func numbers(version string) (n [3]int, err error) {
	release, _, _ := strings.Cut(version, "-")
	parts := strings.Split(release, ".")
	if len(parts) != len(n) {
		return n, fmt.Errorf("version %q does not have three numbers", clean(version))
	}
	for i, part := range parts {
		if n[i], err = strconv.Atoi(part); err != nil || n[i] < 0 {
			return [3]int{}, fmt.Errorf("version %q does not have three numbers", clean(version))
		}
	}
	return n, nil
}
