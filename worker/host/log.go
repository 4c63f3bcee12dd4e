package host

import (
	"cmp"
	"io"
	"log/slog"
	"os"

	"go.temporal.io/sdk/log"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
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
