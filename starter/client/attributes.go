package client

import "sync"

// attributes remembers which of our search attributes the server knows.
type attributes struct {
	mu sync.Mutex
}
