package host

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"go.temporal.io/sdk/log"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// Log says what a worker writes to its log, and how.
type Log struct {
	// Level is the least urgent that is written. Empty: info.
	Level LogLevel
	// Format is the form of a line. Empty: console.
	Format LogFormat
	// Writer gets the lines. Nil: standard error.
	Writer io.Writer
}

// A LogLevel is how urgent a line is.
type LogLevel string

const (
	// LevelDebug tells every step, for those who look for a fault.
	LevelDebug LogLevel = "debug"
	// LevelInfo tells what an operator may want to know.
	LevelInfo LogLevel = "info"
	// LevelWarn tells what went wrong and was seen to.
	LevelWarn LogLevel = "warn"
	// LevelError tells what somebody has to see to.
	LevelError LogLevel = "error"
)

// UnmarshalText accepts the known levels only.
func (l *LogLevel) UnmarshalText(text []byte) error {
	return choose(l, text, []LogLevel{LevelDebug, LevelInfo, LevelWarn, LevelError})
}

// A LogFormat is the form of a line.
type LogFormat string

const (
	// FormatConsole is for people.
	FormatConsole LogFormat = "console"
	// FormatJSON is one JSON object a line.
	FormatJSON LogFormat = "json"
)

// LogFormats lists every format.
func LogFormats() []LogFormat { return []LogFormat{FormatConsole, FormatJSON} }

// UnmarshalText accepts the known formats only.
func (f *LogFormat) UnmarshalText(text []byte) error { return choose(f, text, LogFormats()) }

func choose[E ~string](target *E, text []byte, known []E) error {
	if !slices.Contains(known, E(text)) {
		return fmt.Errorf("%q is none of %s", text, strings.Join(texts(known, func(e E) string { return string(e) }), ", "))
	}
	*target = E(text)
	return nil
}

// newLogger returns Temporal's logger over zap. The secrets never reach the
// writer, wherever in a line they stand.
func newLogger(config Log, known *secrets) log.Logger {
	level := map[LogLevel]zapcore.Level{
		LevelDebug: zapcore.DebugLevel, LevelWarn: zapcore.WarnLevel, LevelError: zapcore.ErrorLevel,
	}[config.Level] // Info is zap's zero level.
	form := zap.NewProductionEncoderConfig()
	form.EncodeTime = zapcore.RFC3339NanoTimeEncoder
	form.EncodeDuration = zapcore.StringDurationEncoder
	encoder := zapcore.NewJSONEncoder(form)
	if config.Format != FormatJSON {
		form.EncodeTime = zapcore.TimeEncoderOfLayout("15:04:05.000")
		encoder = zapcore.NewConsoleEncoder(form)
	}
	out := cmp.Or[io.Writer](config.Writer, os.Stderr)
	sink := zapcore.Lock(zapcore.AddSync(&redactor{out: out, secrets: known}))
	return logger{zap.New(zapcore.NewCore(encoder, sink, level)).Sugar()}
}

// logger is zap behind Temporal's interface.
type logger struct{ zap *zap.SugaredLogger }

var (
	_ log.Logger          = logger{}
	_ log.WithLogger      = logger{}
	_ log.WithSkipCallers = logger{}
)

func (l logger) Debug(msg string, keyvals ...any) { l.zap.Debugw(msg, keyvals...) }
func (l logger) Info(msg string, keyvals ...any)  { l.zap.Infow(msg, keyvals...) }
func (l logger) Warn(msg string, keyvals ...any)  { l.zap.Warnw(msg, keyvals...) }
func (l logger) Error(msg string, keyvals ...any) { l.zap.Errorw(msg, keyvals...) }

// With returns a logger that adds the fields to each line.
func (l logger) With(keyvals ...any) log.Logger { return logger{l.zap.With(keyvals...)} }

// WithCallerSkip returns a logger that names a caller further up.
func (l logger) WithCallerSkip(depth int) log.Logger {
	return logger{l.zap.WithOptions(zap.AddCallerSkip(depth))}
}
