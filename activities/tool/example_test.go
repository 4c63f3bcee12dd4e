package tool_test

import (
	"context"
	"encoding/json"
	"fmt"

	"everstep/activities/tool"
	"everstep/domain"
)

// A tool is a function and the struct of its arguments. The tags are what the
// model gets to know of them.
func ExampleNew() {
	type args struct {
		City string `json:"city" jsonschema:"where, as people call it"`
		Days int    `json:"days,omitzero" jsonschema:"how many days ahead; left out: today"`
	}
	forecast := tool.New("forecast", "Tells the weather of a city.", domain.ReadOnly,
		func(_ context.Context, a args) (string, error) {
			return fmt.Sprintf("%s in %d days: sunny", a.City, a.Days), nil
		})

	result, err := forecast.Call(context.Background(), `{"city": "Bonn", "days": 2}`)
	fmt.Println(result.Content, err)
	_, err = forecast.Call(context.Background(), `{"town": "Bonn"}`)
	fmt.Println(err)
	// Output:
	// Bonn in 2 days: sunny <nil>
	// arguments: at the root: lacks "city"
	// at /town: the schema has no such property; leave it out, or give one of "city", "days"
}

// A tool whose effect the other side makes once for each key hands it the id of
// the call, which is the same for every attempt.
func ExampleExecutionOf() {
	type args struct {
		Cents int `json:"cents"`
	}
	charge := tool.New("charge", "Charges the customer.", domain.Keyed,
		func(ctx context.Context, a args) (string, error) {
			call, ok := tool.ExecutionOf(ctx)
			if !ok {
				return "", tool.NotStarted(fmt.Errorf("charge needs a call to take its key from"))
			}
			return fmt.Sprintf("charged %d under key %s", a.Cents, call.ID), nil
		})

	_, err := charge.Call(context.Background(), `{"cents": 100}`)
	fmt.Println(err)
	ctx := tool.WithExecution(context.Background(), tool.Call{Attempt: 1})
	result, _ := charge.Call(ctx, `{"cents": 100}`)
	fmt.Println(result.Content)
	// Output:
	// charge needs a call to take its key from
	// charged 100 under key 00000000-0000-0000-0000-000000000000
}

type (
	shop  struct{ paid map[string]string }
	order struct {
		Order string `json:"order"`
	}
)

func (s *shop) payBack(customer, order, key string) (string, error) {
	s.paid[key] = order
	return fmt.Sprintf("paid %s back to %s", order, customer), nil
}

// refund pays back to the customer for whom the agent was started, whatever
// the model has been told.
func (s *shop) refund(ctx context.Context, args order) (string, error) {
	call, _ := tool.ExecutionOf(ctx)
	var customer string
	if err := call.Trusted.Decode("customer", &customer); err != nil {
		return "", err // nobody gave it, and the model reads that
	}
	return s.payBack(customer, args.Order, call.ID.String())
}

// Whom an agent acts for is no argument, which the model could choose. Tests of a
// tool say it as the worker does.
func ExampleCall_trusted() {
	refund := tool.New("refund", "Pays an order back.", domain.Keyed, (&shop{paid: map[string]string{}}).refund)

	call := tool.Call{Trusted: domain.Trusted{"customer": json.RawMessage(`"4711"`)}}
	result, _ := refund.Call(tool.WithExecution(context.Background(), call), `{"order": "A-7"}`)
	fmt.Println(result.Content)
	_, err := refund.Call(tool.WithExecution(context.Background(), tool.Call{}), `{"order": "A-7"}`)
	fmt.Println(err)
	// Output:
	// paid A-7 back to 4711
	// trusted.customer: is not given; whoever starts the agent gives it, as in --with customer=…
}
