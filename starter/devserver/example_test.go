package devserver_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"everstep/starter/devserver"
)

// A program that brings up a dev server is its supervisor too.
func ExampleAcquire() {
	ctx := context.Background()
	if len(os.Args) > 1 && os.Args[1] == devserver.SupervisorCommand {
		if err := devserver.Supervise(ctx, os.Args[2:]); err != nil {
			log.Fatal(err)
		}
		return
	}
	lease, err := devserver.Acquire(ctx, devserver.Config{
		Progress: func(line string) { fmt.Fprintln(os.Stderr, line) },
	})
	if err != nil {
		log.Fatal(err)
	}
	defer lease.Close()
	fmt.Println("clients:", lease.Server.Address, "people:", lease.Server.UIURL)
	<-lease.Done // or until the program's own work is done
}
