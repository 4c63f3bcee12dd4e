package workflows_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
	"everstep/domain/hook"
)

// TestAWorkerThatLacksWhatIsNeeded is no end while workers are replaced: others are
// asked, for a while, and status says which worker lacks what.
func TestAWorkerThatLacksWhatIsNeeded(t *testing.T) {
	t.Parallel()
	const always = 1000
	for name, test := range map[string]struct {
		list, model, hook int // how many of the first tries meet such a worker
		stop              contract.StopMode
		status            domain.ExecutionStatus
		asked             int // how often in vain, and the hook after the end
	}{
		"to begin with":            {list: 3, status: domain.StatusCompleted, asked: 3},
		"of no worker's knowledge": {list: always, status: domain.StatusFailed, asked: 16},
		"a provider":               {model: 20, status: domain.StatusCompleted, asked: 20},
		"a provider, and a stop":   {model: always, stop: contract.StopNow, status: domain.StatusStopped, asked: 5},
		"a hook":                   {hook: 20, status: domain.StatusCompleted, asked: 20},
		"a hook that none has":     {hook: always, status: domain.StatusFailed, asked: 31},
		"a hook, and a stop":       {hook: always, stop: contract.StopNow, status: domain.StatusStopped, asked: 6},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked, soon := 0, test.list > 0 && test.list < always // it is over before anybody looks
			lacks := func(left *int) error {
				asked++
				if *left--; *left < 0 {
					return nil
				}
				own := domain.Errorf(domain.Unavailable, "worker 7@there: no such thing")
				own.Lacking = true
				return refused(own)
			}
			w := &world{model: plays(says("done"))}
			plain := w.model
			w.model = func(r contract.ModelRequest) (contract.ModelReply, error) {
				require.Zero(t, r.Attempts, "it is none of the inference's tries")
				if test.model > 0 {
					if err := lacks(&test.model); err != nil {
						return contract.ModelReply{}, err
					}
				}
				return plain(r)
			}
			io := nothing(domain.TriggerBeforeStep)
			after := hook.IO(domain.TriggerAfterExecution, "h", io.Activity())
			env := hooked(t, w, nil, io, after)
			listed := w.list
			w.list = func(r contract.ResolveRequest) (contract.Resolved, error) {
				if test.list > 0 {
					if err := lacks(&test.list); err != nil {
						return contract.Resolved{}, err
					}
				}
				return listed(r)
			}
			answersHooks(env, func(_ context.Context, r contract.HookRequest) (contract.HookReply, error) {
				if test.hook == 0 || r.Hook.Trigger == domain.TriggerAfterExecution && test.hook > always/2 {
					asked += min(test.hook, 1)
					return contract.HookReply{}, nil
				}
				return contract.HookReply{}, lacks(&test.hook)
			})
			var meanwhile account.Status
			env.RegisterDelayedCallback(func() {
				meanwhile = status(t, env)
				if test.stop != "" {
					signalStop(env, contract.StopRequest{Mode: test.stop})
				}
			}, 20*time.Second)
			execute(env, input(t, "", tried(1)))
			endsAs(t, env, test.status)
			require.Equal(t, test.asked, asked)
			if soon {
				return
			}
			require.Equal(t, "worker 7@there: no such thing", meanwhile.Lacking)
			require.Contains(t, meanwhile.Doing, "worker 7@there: no such thing; waiting for a worker that has it")
			if test.status == domain.StatusFailed {
				require.Contains(t, status(t, env).Failure().Message, "no such thing")
			}
		})
	}
}

// TestAWorkerThatLackedOnceWasAFailure: where no other was asked, a stop meanwhile changes
// nothing.
func TestAWorkerThatLackedOnceWasAFailure(t *testing.T) {
	t.Parallel()
	lacks := domain.Errorf(domain.Unavailable, "worker 7@there: no such thing")
	lacks.Lacking = true
	for name, test := range map[string]struct {
		stop   contract.StopMode
		hook   bool
		status domain.ExecutionStatus
	}{
		"a provider": {contract.AfterStep, false, domain.StatusStopped},
		"a hook":     {contract.StopNow, true, domain.StatusStopped},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var env *testsuite.TestWorkflowEnvironment
			w := &world{}
			w.model = func(contract.ModelRequest) (contract.ModelReply, error) {
				signalStop(env, contract.StopRequest{Mode: test.stop})
				return contract.ModelReply{}, refused(lacks)
			}
			var hooks []hook.Hook
			if test.hook {
				hooks = append(hooks, nothing(domain.TriggerAfterExecution))
			}
			env = hooked(t, w, nil, hooks...)
			answersHooks(env, func(context.Context, contract.HookRequest) (contract.HookReply, error) {
				return contract.HookReply{}, refused(lacks)
			})
			execute(env, input(t, "", tried(1)))
			endsAs(t, env, test.status)
		})
	}
}

// TestAHookWhoseWorkerWasLost is asked again, unless its author says how often it may be.
func TestAHookWhoseWorkerWasLost(t *testing.T) {
	t.Parallel()
	heartbeat, late := temporal.NewHeartbeatTimeoutError(), temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_START_TO_CLOSE, nil)
	for name, test := range map[string]struct {
		attempts, lost int
		err            error
		stop           bool
		asked          int
		status         domain.ExecutionStatus
	}{
		"lost twice":             {0, 2, heartbeat, false, 3, domain.StatusCompleted},
		"time and again":         {0, 9, heartbeat, false, 3, domain.StatusFailed},
		"that may run once":      {1, 1, heartbeat, false, 1, domain.StatusFailed},
		"that took too long":     {0, 1, late, false, 1, domain.StatusFailed},
		"and a stop of mode now": {0, 9, heartbeat, true, 1, domain.StatusStopped},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := nothing(domain.TriggerBeforeStep)
			h.Attempts = test.attempts
			env := hooked(t, &world{model: plays(says("done"))}, nil, h)
			var lost []int
			answersHooks(env, func(_ context.Context, request contract.HookRequest) (contract.HookReply, error) {
				if lost = append(lost, request.Lost); len(lost) > test.lost {
					return contract.HookReply{}, nil
				}
				if test.stop {
					stopsWith(env, 100*time.Millisecond, contract.StopRequest{Mode: contract.StopNow})
				}
				return contract.HookReply{}, test.err
			})
			execute(env, input(t, ""))
			endsAs(t, env, test.status)
			require.Equal(t, []int{0, 1, 2}[:test.asked], lost)
		})
	}
}

// TestTheLastHooksOfAStopNow that no worker has hold it up for a minute, and not for 26.
func TestTheLastHooksOfAStopNow(t *testing.T) {
	t.Parallel()
	lacks := domain.Errorf(domain.Unavailable, "worker 7@there: no such thing")
	lacks.Lacking = true
	silent := func(context.Context, contract.HookRequest) (contract.HookReply, error) {
		return contract.HookReply{}, nil
	}
	w := &world{}
	var env *testsuite.TestWorkflowEnvironment
	w.model = func(contract.ModelRequest) (contract.ModelReply, error) {
		signalStop(env, contract.StopRequest{Mode: contract.StopNow})
		return says("cut off"), nil
	}
	env = hooked(t, w, nil, hook.IO(domain.TriggerOnStop, "h", silent), hook.IO(domain.TriggerAfterExecution, "h", silent))
	answersHooks(env, func(context.Context, contract.HookRequest) (contract.HookReply, error) {
		return contract.HookReply{}, refused(lacks)
	})
	begun := env.Now()
	execute(env, input(t, ""))
	endsAs(t, env, domain.StatusStopped)
	took := env.Now().Sub(begun)
	require.True(t, took > 30*time.Second && took < 2*time.Minute, took)
}
