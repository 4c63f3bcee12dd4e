package activities_test

import (
	"context"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
)

// told changes what an activity is told about itself, and listens to its heartbeats.
type told struct {
	interceptor.WorkerInterceptorBase
	info  func(*activity.Info)
	beats func(details ...any)
}

func (i *told) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &toldInbound{interceptor.ActivityInboundInterceptorBase{Next: next}, i}
}

type toldInbound struct {
	interceptor.ActivityInboundInterceptorBase
	told *told
}

func (i *toldInbound) Init(out interceptor.ActivityOutboundInterceptor) error {
	return i.Next.Init(&toldOutbound{interceptor.ActivityOutboundInterceptorBase{Next: out}, i.told})
}

type toldOutbound struct {
	interceptor.ActivityOutboundInterceptorBase
	told *told
}

func (o *toldOutbound) GetInfo(ctx context.Context) activity.Info {
	info := o.Next.GetInfo(ctx)
	o.told.info(&info)
	return info
}

func (o *toldOutbound) RecordHeartbeat(ctx context.Context, details ...any) {
	o.told.beats(details...)
	o.Next.RecordHeartbeat(ctx, details...)
}
