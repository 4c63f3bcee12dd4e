// Command tools is a worker with tools of its own: one that may run again, one
// whose other side knows a call by its key, and one that must never run twice.
//
//	starter dev
//	go run ./worker/examples/tools
//	starter run --task-queue shop --tool price,pay,ship --model … "Buy a lamp"
//
// The calls of pay and ship wait until a person has approved them: run says how.
package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/worker/host"
)

func main() { host.Main(config(newBank())) }

// config is the worker. All workers of a task queue need the same tools.
func config(b *bank) host.Config {
	return host.Config{TaskQueue: "shop", Tools: []tool.Tool{
		tool.New("price", "Tells what an article costs, in cents.", domain.ReadOnly, price),
		tool.New("pay", "Pays for an article.", domain.Keyed, b.pay, tool.Verify(b.verify)),
		tool.New("ship", "Has an article sent.", domain.AtMostOnce, ship),
	}}
}

type article struct {
	Name string `json:"name" jsonschema:"the article, in the singular"`
}

// price reads and changes nothing, so it may run again after a crash.
func price(_ context.Context, a article) (string, error) {
	if a.Name != "lamp" {
		return "", errors.New("there is no such article") // the model reads this
	}
	return "4200", nil
}

// A bank stands for a payment provider that takes a key with each payment.
type bank struct {
	mu   sync.Mutex
	paid map[string]int
	void map[string]bool
}

type payment struct {
	Cents int `json:"cents" jsonschema:"how much"`
}

func newBank() *bank { return &bank{paid: map[string]int{}, void: map[string]bool{}} }

// pay makes a payment once, however often it runs: the bank knows it by the
// key, which is the same in every attempt.
func (b *bank) pay(ctx context.Context, args payment) (string, error) {
	execution, _ := tool.ExecutionOf(ctx)
	return b.transfer(execution.Key, args)
}

// verify says what became of a payment where nobody knows. One that the bank
// has not seen may still be on its way: with its key void it has no effect.
func (b *bank) verify(ctx context.Context, _ payment) (tool.Finding, error) {
	execution, _ := tool.ExecutionOf(ctx)
	receipt, paid := b.voidUnlessPaid(execution.Key)
	if paid {
		return tool.Happened(receipt, "it is in the bank's journal"), nil
	}
	return tool.Fenced("the bank has made its key void"), nil
}

// transfer is the other side.
func (b *bank) transfer(key string, p payment) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.void[key] {
		return "", errors.New("the key is void")
	}
	b.paid[key] = p.Cents
	return receiptOf(p.Cents), nil
}

func (b *bank) voidUnlessPaid(key string) (receipt string, paid bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	cents, paid := b.paid[key]
	b.void[key] = !paid
	return receiptOf(cents), paid
}

func receiptOf(cents int) string { return fmt.Sprintf("paid %d cents", cents) }

// ship cannot be asked whether it was done, so it never runs a second time, but
// for what failed before anything was sent.
func ship(_ context.Context, a article) (string, error) {
	if a.Name == "" {
		return "", tool.NotStarted(errors.New("name: say which article"))
	}
	return "a " + a.Name + " is on its way", nil
}
