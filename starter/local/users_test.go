package local

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWhoMayLogIn: services and this user's own account are nobody to be warned of.
func TestWhoMayLogIn(t *testing.T) {
	t.Parallel()
	const services = "root:x:0:0:root:/root:/bin/bash\ngit:x:998:998::/var/git:/bin/sh\nnobody:x:65534:65534::/none:/usr/sbin/nologin\nheld:x:1003:1003::/home/held:/bin/false\n"
	for name, c := range map[string]struct {
		accounts string
		own      int
		want     bool
	}{
		"services":         {services, 0, false},
		"a person":         {services + "eve:x:1001:1001::/home/eve:/bin/zsh\n", 0, true},
		"this user":        {services + "eve:x:1001:1001::/home/eve:/bin/zsh\n", 1001, false},
		"the usual shell":  {services + "eve:x:1001:1001::/home/eve:\n", 1000, true},
		"what is none":     {"# eve\n+\n\n", 1000, false},
		"no file":          {"", 1000, false},
		"root to a person": {services, 1000, false},
	} {
		require.Equal(t, c.want, mayLogIn(c.accounts, c.own), name)
	}
	uid, known := ownerOf("Name:\tsh\nUmask:\t0022\nUid:\t1001\t0\t0\t0\nGid:\t5\t5\t5\t5\n")
	require.True(t, known)
	require.Equal(t, 1001, uid)
	_, known = ownerOf("")
	require.False(t, known)
}
