package main

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/enum"
	"everstep/starter/client"
)

func TestExitCodes(t *testing.T) {
	t.Parallel()
	want := map[client.Class]int{
		client.Invalid: 2, client.NotFound: 4, client.Unreachable: 5, client.Refused: 6, client.Cancelled: 130,
		client.Gone: 1, client.Failed: 1,
	}
	for _, class := range enum.Known[client.Class]() {
		code, known := want[class]
		require.True(t, known, class)
		require.Equal(t, code, exitCode(fmt.Errorf("wrapped: %w", &client.Error{Class: class})), class)
	}
	kinds := map[domain.Kind]int{
		domain.Invalid: 2, domain.TooLarge: 2, domain.Denied: 6, domain.Unavailable: 5, domain.Throttled: 5, domain.Internal: 1,
	}
	for _, kind := range enum.Known[domain.Kind]() {
		code, known := kinds[kind]
		require.True(t, known, kind)
		require.Equal(t, code, exitCode(domain.Errorf(kind, "x")), kind)
	}
	require.Equal(t, 0, exitCode(nil))
	require.Equal(t, 1, exitCode(errors.New("any other")))
	require.Equal(t, 130, exitCode(context.Canceled))
	require.Equal(t, 2, exitCode(usage("x")))
}

func TestOutcomeExitCodes(t *testing.T) {
	t.Parallel()
	want := map[domain.ExecutionStatus]int{
		domain.StatusPending: 1, domain.StatusInProgress: 1, domain.StatusCompleted: 0, domain.StatusStopped: 3, domain.StatusFailed: 1,
	}
	for _, status := range enum.Known[domain.ExecutionStatus]() {
		code, known := want[status]
		require.True(t, known, status)
		require.Equal(t, code, exitCode(outcomeOf(client.Result{Outcome: contract.Outcome{Status: status}})), status)
	}
}
