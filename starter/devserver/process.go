package devserver

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// stopPatience is how long a server may take to stop before it is killed. Its
// state file loses nothing by that.
const stopPatience = 5 * time.Second

// A process is a running temporal CLI.
type process struct {
	cmd    *exec.Cmd
	exited chan struct{}
}

// startProcess runs the server so that it ends with this process and holds the
// lock until it has. Its output goes to where this process's goes.
func startProcess(binary string, args []string, dir string, lock *os.File) (*process, error) {
	p := &process{cmd: exec.Command(binary, args...), exited: make(chan struct{})}
	p.cmd.Dir = dir
	p.cmd.Stdout, p.cmd.Stderr = os.Stderr, os.Stderr
	p.cmd.ExtraFiles = []*os.File{lock}
	p.cmd.SysProcAttr = boundToParent()
	started := make(chan error, 1)
	go func() {
		// Bound to the parent means bound to its thread: this one is kept until
		// the server is gone, and then ends with the goroutine.
		runtime.LockOSThread()
		defer close(p.exited)
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait() // read from ProcessState
		}
	}()
	return p, <-started
}

// stop ends the server in good order if it can, and returns when it is gone.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // fails only if it is gone
	timer := time.NewTimer(stopPatience)
	defer timer.Stop()
	select {
	case <-p.exited:
		return
	case <-timer.C:
	}
	_ = p.cmd.Process.Kill()
	<-p.exited
}

// answers returns nil once the server is healthy, knows its namespace and can
// list from it.
func answers(ctx context.Context, address string, p *process) error {
	conn, err := grpc.NewClient("passthrough:///"+address,
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithNoProxy(),
		// The default waits a second after the first refusal.
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 10 * time.Millisecond, Multiplier: 1, MaxDelay: 10 * time.Millisecond},
			MinConnectTimeout: time.Second,
		}))
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	defer conn.Close()
	for {
		last := probe(ctx, conn)
		select {
		case <-p.exited: // whatever answered, it was another server
			return fmt.Errorf("ended before it answered: %s", p.cmd.ProcessState)
		default:
		}
		if last == nil {
			return nil
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return fmt.Errorf("%w: %w", context.Cause(ctx), last)
		}
	}
}

func probe(ctx context.Context, conn *grpc.ClientConn) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	health, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{
		Service: "temporal.api.workflowservice.v1.WorkflowService",
	})
	if err != nil {
		return err
	}
	if health.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		return fmt.Errorf("its health is %s", health.GetStatus())
	}
	_, err = workflowservice.NewWorkflowServiceClient(conn).ListWorkflowExecutions(ctx,
		&workflowservice.ListWorkflowExecutionsRequest{Namespace: namespace, PageSize: 1})
	return err
}
