package local

import (
	"sync"
	"testing"
)

// TestAStackIsClosedWhileItIsAsked: a command that ends closes its stack while what
// follows an execution may still ask it why it has failed.
func TestAStackIsClosedWhileItIsAsked(t *testing.T) {
	t.Parallel()
	spec, _ := part(t, "serve")
	s := &Stack{}
	s.worker, _ = keep(t, spec)
	var asking sync.WaitGroup
	asking.Go(func() { _ = s.Failed() })
	s.Close()
	s.Close()
	asking.Wait()
}
