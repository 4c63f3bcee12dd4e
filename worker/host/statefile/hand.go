package statefile

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

// Dial connects to the dev server of a state file. Its supervisor makes the connection and hands it over: the server
// may be in a network of its own, to which its address leads through the supervisor. One that is starting is waited for.
func Dial(ctx context.Context, stateFile string) (net.Conn, error) {
	asked, r, err := Connect(ctx, stateFile)
	if err != nil {
		return nil, err
	}
	defer asked.Close()
	if r.Error != "" {
		return nil, errors.New(r.Error)
	}
	stop := context.AfterFunc(ctx, func() { _ = asked.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	conn, err := receive(asked)
	switch {
	case err == nil:
		return conn, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return nil, fmt.Errorf("get a connection to the dev server: %w", err)
}
