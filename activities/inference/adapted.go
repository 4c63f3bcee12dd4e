package inference

import "everstep/domain"

// An Adapted is a refusal from which a provider has learned what a server does not take: the same call makes another
// request from now on, which may be sent at once. What was refused is not billed.
type Adapted struct {
	// Refusal is the server's, with what is done about it.
	Refusal *domain.Error
}

// Error is the refusal's.
func (a *Adapted) Error() string { return a.Refusal.Error() }

// Unwrap returns the refusal.
func (a *Adapted) Unwrap() error { return a.Refusal }

// MostAdapted bounds how often one attempt may be made anew because of what was refused.
const MostAdapted = 8
