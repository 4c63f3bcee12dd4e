package whole_test

import (
	"bytes"
	"fmt"
	"sync"
	"testing"

	"everstep/domain"
)

// lastEvents is how many events of an open agent are printed.
const lastEvents = 12

// A workerLog is what the workers of a stack have logged.
type workerLog struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *workerLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

func (l *workerLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

// tellsWhy prints, where the test has failed, what its workers have logged and how far its open agents have come: what fails
// one time in a hundred cannot be looked at again.
func (s *stack) tellsWhy(t testing.TB) {
	t.Helper()
	if !t.Failed() {
		return
	}
	if logged := s.log.String(); logged != "" {
		t.Logf("its workers have logged:\n%s", logged)
	}
	for _, run := range s.runsOnQueue(t) {
		events := s.historyNow(t, run.WorkflowID, run.RunID).GetEvents()
		if len(events) == 0 || ends(events[len(events)-1]) {
			continue
		}
		t.Logf("%s is open, with %d events; the last:", run.WorkflowID, len(events))
		for _, event := range events[max(len(events)-lastEvents, 0):] {
			t.Log(domain.Shorten(event.String(), 500))
		}
		described, err := s.temporal.DescribeWorkflowExecution(within(t), run.WorkflowID, run.RunID)
		t.Log(domain.Shorten(fmt.Sprint(described.GetPendingActivities(), described.GetPendingWorkflowTask(), err), 4000))
	}
}
