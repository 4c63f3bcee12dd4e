package workflows

// The server ends a run of more than so many events or bytes. From the last ones on there is
// room for a long step and the end of the execution, from the final ones on for the end alone.
const (
	mostEvents, finalEvents, lastEvents = 51_200, 50_000, 45_000
	mostBytes, finalBytes, lastBytes    = 50 << 20, 46 << 20, 40 << 20
	// replayedEvents are those that a slow worker replays in a second, which a workflow task must have time for.
	replayedEvents = 10_000
)

// nearBounds reports whether the run is near the server's own bounds, or as long as its tasks have time for.
func (r *run) nearBounds() bool {
	events := min(lastEvents, int(replayedEvents*r.info.WorkflowTaskTimeout.Seconds()))
	return r.info.GetCurrentHistoryLength() >= events || r.info.GetCurrentHistorySize() >= lastBytes
}

// exhausted reports whether the run has room for its end and no more.
func (r *run) exhausted() bool {
	return r.info.GetCurrentHistoryLength() >= finalEvents || r.info.GetCurrentHistorySize() >= finalBytes
}
