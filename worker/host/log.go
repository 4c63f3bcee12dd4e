package host

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"slices"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"everstep/domain/contract"
)

// Log says what a worker writes to its log, and how.
type Log struct {
	// Level is the least urgent that is written. Zero: slog.LevelInfo.
	Level slog.Level
	// JSON has each line be one JSON object; else lines are for people.
	JSON bool
	// Writer gets the lines. Nil: standard error.
	Writer io.Writer
}

// newLogger returns Temporal's logger over zap. The secrets never reach the
// writer, wherever in a line they stand.
func newLogger(config Log, known *secrets) log.Logger {
	level, _ := zapcore.ParseLevel(config.Level.String()) // one between is info
	form := zap.NewProductionEncoderConfig()
	form.EncodeTime = zapcore.RFC3339NanoTimeEncoder
	form.EncodeDuration = zapcore.StringDurationEncoder
	encoder := zapcore.NewJSONEncoder(form)
	if !config.JSON {
		form.EncodeTime = zapcore.TimeEncoderOfLayout("15:04:05.000")
		encoder = zapcore.NewConsoleEncoder(form)
	}
	out := cmp.Or[io.Writer](config.Writer, os.Stderr)
	sink := zapcore.Lock(zapcore.AddSync(&redactor{out: out, secrets: known}))
	return logger{zap.New(zapcore.NewCore(encoder, sink, level)).Sugar()}
}

// logger is zap behind Temporal's interface.
type logger struct{ zap *zap.SugaredLogger }

func (l logger) Debug(msg string, keyvals ...any) { l.zap.Debugw(msg, keyvals...) }
func (l logger) Info(msg string, keyvals ...any)  { l.zap.Infow(msg, keyvals...) }
func (l logger) Warn(msg string, keyvals ...any)  { l.zap.Warnw(msg, keyvals...) }
func (l logger) Error(msg string, keyvals ...any) { l.zap.Errorw(msg, keyvals...) }

// With returns a logger that adds the fields to each line.
func (l logger) With(keyvals ...any) log.Logger { return logger{l.zap.With(keyvals...)} }

// quietLines are lines of the SDK that say nothing to a reader of the log: the worker logs its start and its end itself,
// and the server notices the rest without them.
var quietLines = []string{
	"Started Worker", "Stopped Worker", "ShutdownWorker rpc errored during worker shutdown.", "Failed to send heartbeat",
	"Stopping heartbeat worker", "Failed polling worker command task", "unable to close connection",
}

// An sdkLogger logs the SDK's quiet lines, and those about cancelled work, at level debug. No line has the result of an
// activity, which is long and may be anything.
type sdkLogger struct{ log.Logger }

func newSDKLogger(logger log.Logger) sdkLogger { return sdkLogger{log.Skip(logger, 1)} }

// With returns a logger that adds the fields to each line.
func (l sdkLogger) With(fields ...any) log.Logger { return sdkLogger{log.With(l.Logger, fields...)} }

// WithCallerSkip returns a logger for one who stands between it and the caller.
func (l sdkLogger) WithCallerSkip(depth int) log.Logger { return sdkLogger{log.Skip(l.Logger, depth)} }

func (l sdkLogger) Info(text string, fields ...any)  { l.line(l.Logger.Info, text, fields) }
func (l sdkLogger) Warn(text string, fields ...any)  { l.line(l.Logger.Warn, text, fields) }
func (l sdkLogger) Error(text string, fields ...any) { l.line(l.Logger.Error, text, fields) }

func (l sdkLogger) line(as func(string, ...any), text string, fields []any) {
	var kept []any
	quiet := slices.Contains(quietLines, text)
	for pair := range slices.Chunk(fields, 2) {
		switch value := pair[len(pair)-1].(type) {
		case error:
			quiet = quiet || pair[0] == "Error" && ofCancelledWork(value)
		case string: // an inference says itself how it failed
			quiet = quiet || text == "Activity error." && pair[0] == "ActivityType" && value == string(contract.CallModel)
		}
		if pair[0] != "Result" {
			kept = append(kept, pair...)
		}
	}
	if quiet {
		as = l.Debug
	}
	as(text, kept...)
}

// ofCancelledWork reports whether an error comes whenever work is cancelled, is done elsewhere meanwhile, or ends with its
// worker.
func ofCancelledWork(err error) bool {
	_, gone := errors.AsType[*serviceerror.NotFound](err)
	_, ended := errors.AsType[*serviceerror.Canceled](err)
	return gone || ended || errors.Is(err, context.Canceled) || temporal.IsCanceledError(err) ||
		errors.Is(err, activity.ErrActivityPaused) || errors.Is(err, activity.ErrActivityReset)
}
