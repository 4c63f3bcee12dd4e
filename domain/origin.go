package domain

// An Origin is the step of an earlier execution after which an execution goes
// on: its context began as it was then. Step 0 is before the first.
type Origin struct {
	ExecutionID ExecutionID `json:"execution_id"`
	Step        int         `json:"step"`
	// Origin is where that execution itself went on from.
	Origin *Origin `json:"origin,omitempty"`
}

// chain lists the execution and those it goes on from, the newest first. Their
// traces are what CurrentTrace shows.
func (o *Origin) chain(id ExecutionID) []ExecutionID {
	chain := []ExecutionID{id}
	for ; o != nil; o = o.Origin {
		chain = append(chain, o.ExecutionID)
	}
	return chain
}

// kept returns a copy that shares nothing with o.
func (o *Origin) kept() *Origin {
	if o == nil {
		return nil
	}
	return &Origin{o.ExecutionID, o.Step, o.Origin.kept()}
}
