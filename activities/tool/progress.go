package tool

import "context"

type progressKey struct{}

// WithProgress returns a context in which Progress calls told. The worker does this for
// every call; tests of a tool may.
func WithProgress(ctx context.Context, told func(text string)) context.Context {
	return context.WithValue(ctx, progressKey{}, told)
}

// Progress says how far a call is, for whoever looks at status or watch: a few words, of
// which the newest go out with the call's next heartbeat. No model reads them. It costs
// next to nothing, may be called from any goroutine, and does nothing outside of a call.
func Progress(ctx context.Context, text string) {
	if told, ok := ctx.Value(progressKey{}).(func(string)); ok {
		told(text)
	}
}
