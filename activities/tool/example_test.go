package tool_test

import (
	"context"
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
