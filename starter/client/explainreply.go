package client

import "everstep/domain"

// replied notes how an inference of the execution ended, with what its failed
// attempts cost.
func (h *past) replied(work *pastWork, reply domain.ModelReply) {
	step := &h.turn.Step
	lost, failed := reply.Spent, max(reply.Tries, work.attempt, 1)
	if reply.Outcome == domain.Answered || reply.Outcome == domain.Interrupted {
		failed--
	} else {
		lost = lost.Add(reply.Response.Usage)
	}
	total := reply.Response.Usage.Add(reply.Spent)
	answer := domain.Usage{}
	if reply.Outcome == domain.Answered || reply.Outcome == domain.Interrupted {
		answer = reply.Response.Usage
	}
	step.Usage, step.Lost = step.Usage.Add(total), step.Lost.Add(lost)
	h.turn.failed += failed
	if failed > 0 {
		h.turn.retries = append(h.turn.retries, h.retry(work, reply, failed, lost))
	}
	if h.price != nil {
		cost := h.price.Cost(lost)
		step.LostNanoUSD = domain.AddCost(step.LostNanoUSD, cost)
		step.CostNanoUSD = domain.AddCost(domain.AddCost(step.CostNanoUSD, cost), h.price.Cost(answer))
	}
	if n := len(h.turn.compactions); work.model.Summary != nil {
		if n > 0 {
			h.turn.compactions[n-1].Usage = total.View()
		}
		return
	}
	switch reply.Outcome {
	case domain.Answered, domain.Interrupted:
		h.turn.cut = nil
		h.said(reply)
	case domain.BilledFailure:
		step.Response, h.turn.cut = nil, reply.Error
	case domain.ShutDown:
		step.Response, h.turn.cut = nil, domain.CodedErrorf(domain.Unavailable, domain.CodeWorkerShutdown, "the worker was told to stop")
	}
}

// said notes an answer, or as far as it came.
func (h *past) said(reply domain.ModelReply) {
	step := &h.turn.Step
	step.Response = &reply.Response
	h.fill = reply.Response.Usage.TotalTokens()
	if reply.Outcome == domain.Interrupted {
		step.Interrupted = true
		step.Errors = append(step.Errors, domain.Error{
			Kind: domain.Unavailable, Code: domain.CodeInterrupted, Message: "the inference was cut off by a stop",
		})
		return
	}
	if reply.Message == nil {
		return
	}
	step.ToolExecutions = nil
	for i, call := range reply.Message.ToolCalls {
		step.ToolExecutions = append(step.ToolExecutions, domain.ToolExecution{ID: step.ID.Tool(i), Call: call})
	}
	// Of the message only what makes the step's type is kept.
	step.Output = []domain.Message{{Role: domain.RoleAssistant, ToolCalls: reply.Message.ToolCalls}}
	if reply.Invalid != "" {
		step.Errors = append(step.Errors, domain.Error{
			Kind: domain.Invalid, Code: domain.CodeInvalidOutput, Message: "the answer does not fit the response format: " + reply.Invalid,
		})
	}
}

// retry says why attempts failed, and what they cost.
func (h *past) retry(work *pastWork, reply domain.ModelReply, failed int, lost domain.Usage) ExplainRetry {
	why := reply.Error
	if why == nil {
		why = work.before
	}
	r := ExplainRetry{Attempts: failed, Usage: lost.View()}
	switch {
	case reply.Outcome == domain.ShutDown:
		r.Reason, r.Code = "the worker was told to stop", new(domain.CodeWorkerShutdown)
	case why != nil:
		r.Reason = why.Message
		if why.Code != "" {
			r.Code = &why.Code
		}
	default:
		r.Reason = "history does not say why"
	}
	if h.price != nil {
		r.CostNanoUSD = new(h.price.Cost(lost))
	}
	return r
}

// flush keeps the step that activities belonged to. running says that it is
// still under way.
func (h *past) flush(running bool) {
	turn := h.turn
	if turn == nil {
		return
	}
	h.turn = nil
	step := &turn.Step
	running = running && h.unfinished(turn)
	if !running {
		h.cutShort(turn)
		turn.CompletedAt = turn.seen
		for i, call := range step.ToolExecutions {
			if call.StartedAt.IsZero() && call.Error == nil {
				step.ToolExecutions[i].Error = domain.CodedErrorf(domain.Denied, domain.CodeNotRun, "it was not begun; only a worker can say why")
			}
		}
	}
	if turn.cut != nil && !running {
		step.Errors = append(step.Errors, *turn.cut)
	}
	e := explainStep(turn.StepExecution, h.price != nil)
	e.FailedAttempts = turn.failed
	e.Retries, e.Compactions = append(e.Retries, turn.retries...), append(e.Compactions, turn.compactions...)
	e.QueuedMilliseconds = turn.queued.Milliseconds()
	if running {
		e.InProgress, e.Type = true, nil
		e.Tools, e.prints = begunOnly(e.Tools), nil
	}
	h.steps[e.Number] = e
}

// unfinished reports whether a step has something to do or to wait for.
func (h *past) unfinished(turn *pastTurn) bool {
	for _, call := range turn.Step.ToolExecutions {
		if call.CompletedAt.IsZero() {
			return true
		}
	}
	return len(h.work) > 0 || turn.Step.Response == nil
}

// cutShort notes that the execution ended while the step's work was under way.
func (h *past) cutShort(turn *pastTurn) {
	if len(h.work) == 0 {
		return
	}
	turn.seen = h.endedAt
	turn.Step.Interrupted = true
	turn.Step.Errors = append(turn.Step.Errors, domain.Error{
		Kind: domain.Unavailable, Code: domain.CodeInterrupted, Message: "the workflow ended while this was under way",
	})
	for i, call := range turn.Step.ToolExecutions {
		if call.InFlight() {
			turn.Step.ToolExecutions[i].Error = domain.CodedErrorf(domain.Unavailable, domain.CodeOutcomeUnknown,
				"the workflow ended while it was under way; nobody knows what became of it")
		}
	}
}

// begunOnly leaves out the calls of a step in progress of which nobody knows
// yet whether they will begin.
func begunOnly(tools []ExplainTool) []ExplainTool {
	kept := []ExplainTool{}
	for _, tool := range tools {
		if tool.Milliseconds != nil || tool.Outcome == ToolRunning || tool.Error != nil {
			kept = append(kept, tool)
		}
	}
	return kept
}
