package domain_test

import (
	"reflect"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

// TestNothingThatIsReadCanChangeAState writes into the lists and maps that the methods of a state and of its parts hand
// out, at every depth that can be reached. Nobody writes through a pointer.
func TestNothingThatIsReadCanChangeAState(t *testing.T) {
	t.Parallel()
	for name, s := range states() {
		before := encoded(t, s)
		if current, ok := s.CurrentStep(); ok {
			s = must(s.WithCurrentStep(toolStep(executionID(1), current.Number), s.UpdatedAt))
			before = encoded(t, s)
		}
		execution := s.Execution
		store := s.Context.MessageStore
		clone := s.Clone()
		spoil(reflect.ValueOf([]any{clone.Metadata, clone.LLMConfig, clone.ResponseFormat, clone.SessionTrusted, clone.Execution.Trusted, clone.Execution.Budget, clone.Execution.Continuation}), true)
		require.Equal(t, before, encoded(t, s), "%s: a clone is whose who asks for it", name)
		for _, of := range []any{s, execution, store} {
			methods := reflect.ValueOf(of)
			for i := range methods.NumMethod() {
				var in []reflect.Value
				method := methods.Method(i)
				for k := range method.Type().NumIn() {
					switch method.Type().In(k) {
					case reflect.TypeFor[time.Time]():
						in = append(in, reflect.ValueOf(after(9)))
					case reflect.TypeFor[string]():
						in = append(in, reflect.ValueOf(domain.SectionMessages))
					}
				}
				if method.Type().IsVariadic() || len(in) < method.Type().NumIn() {
					continue
				}
				for _, out := range method.Call(in) {
					if out.Type() == reflect.TypeFor[domain.AgentState]() {
						continue // its fields are shared
					}
					spoil(out, false)
				}
				require.Equal(t, before, encoded(t, s), "%s: %T.%s", name, of, methods.Type().Method(i).Name)
			}
		}
	}
}

// spoil writes into what a value refers to, on request by pointers too.
func spoil(v reflect.Value, pointers bool) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() && v.Elem().Kind() != reflect.Func && (pointers || v.Kind() == reflect.Interface) {
			spoil(v.Elem(), pointers)
			overwrite(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				spoil(v.Field(i), pointers)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			spoil(v.Index(i), pointers)
			overwrite(v.Index(i))
		}
		if v.CanInterface() {
			reflect.Append(v, reflect.Zero(v.Type().Elem()))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			spoil(v.MapIndex(key), pointers)
			v.SetMapIndex(key, reflect.Zero(v.Type().Elem()))
		}
	default:
	}
}

func overwrite(v reflect.Value) {
	if !v.CanSet() {
		return
	}
	if v.Kind() == reflect.Uint8 {
		v.SetUint('x')
		return
	}
	v.Set(reflect.Zero(v.Type()))
}

// TestWhatIsGivenToAStateIsItsOwn: whoever keeps what it gave changes nothing by it.
func TestWhatIsGivenToAStateIsItsOwn(t *testing.T) {
	t.Parallel()
	step := toolStep(executionID(1), 1)
	messages := toolStep(executionID(1), 1).Output
	context := domain.Metadata{"a": []byte(`"plain"`), "b": []byte(`[1]`)}
	s := must(begunState().WithMessages("", messages, after(2)))
	s = must(s.WithMetadata("k", context["a"], after(2)))
	s = must(s.WithStopSignal(domain.StopSignal{Reason: domain.StopRequested, Context: context}, after(2)))
	s = must(s.WithStepStarted(step.ID, after(2)))
	s = must(s.WithCurrentStep(step, after(2)))
	before := encoded(t, s)
	for _, given := range []any{step, messages, context} {
		spoil(reflect.ValueOf(given), true)
		require.Equal(t, before, encoded(t, s), "%T", given)
	}
}

// TestEqualSeesEveryField of a message and of its parts, and an empty list where there was none.
func TestEqualSeesEveryField(t *testing.T) {
	t.Parallel()
	full := func() (m domain.Message) {
		fill(reflect.ValueOf(&m).Elem(), "m")
		return m
	}
	require.True(t, full().Equal(full()))
	m := full()
	m.CreatedAt = m.CreatedAt.In(time.FixedZone("", 3600))
	require.True(t, full().Equal(m))
	for _, empty := range []domain.Message{{Parts: []domain.Part{}}, {ToolCalls: []domain.ToolCall{}}, {Metadata: domain.Metadata{}}} {
		require.False(t, domain.Message{}.Equal(empty), "histories of hooks that leave it so say that the answer was changed")
	}
	for _, of := range []func(*domain.Message) any{
		func(m *domain.Message) any { return m },
		func(m *domain.Message) any { return &m.Parts[0] },
		func(m *domain.Message) any { return m.ToolResult },
	} {
		for i := range reflect.TypeOf(of(&m)).Elem().NumField() {
			m := full()
			field := reflect.ValueOf(of(&m)).Elem().Field(i)
			field.SetZero()
			require.False(t, full().Equal(m), "%T: %d", of(&m), i)
			require.False(t, m.Equal(full()), "%T: %d", of(&m), i)
		}
	}
}

// TestAMessageOfTheSameIDIsKeptAnew where it says something else: one that a step had is
// not copied again.
func TestAMessageOfTheSameIDIsKeptAnew(t *testing.T) {
	t.Parallel()
	step := toolStep(executionID(1), 1)
	s := must(begunState().WithStepStarted(step.ID, after(2)))
	s = must(s.WithCurrentStep(step, after(2)))
	step.Output = append(step.Output, domain.Clone(step.Output[0]))
	step.Output[0].Metadata["note"] = []byte(`[1]`)
	step.Output[1].Parts = []domain.Part{{Type: domain.PartText, Text: "other"}}
	s = must(s.WithCurrentStep(step, after(3)))
	before := encoded(t, s)
	current, _ := s.CurrentStep()
	require.Equal(t, step.Output, current.Output)
	spoil(reflect.ValueOf(step), true)
	require.Equal(t, before, encoded(t, s))
}

// TestEventsShareNothing: they hold plain values alone, and budgets, through whose pointers nobody writes.
func TestEventsShareNothing(t *testing.T) {
	t.Parallel()
	var plain func(reflect.Type) bool
	plain = func(typ reflect.Type) bool {
		if typ == reflect.TypeFor[domain.ExecutionBudget]() {
			return true
		}
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface, reflect.Chan, reflect.Func:
			return false
		case reflect.Struct:
			for i := range typ.NumField() {
				if typ != reflect.TypeFor[time.Time]() && !plain(typ.Field(i).Type) {
					return false
				}
			}
		default:
		}
		return true
	}
	for _, name := range domain.EventTypes() {
		event, err := domain.Decode[domain.Event]([]byte(`{"type":"` + string(name) + `"}`))
		require.NoError(t, err)
		require.True(t, plain(reflect.TypeOf(event.EventHeader)), name)
		if event.Data != nil {
			require.True(t, plain(reflect.TypeOf(event.Data)), name)
		}
	}
}

// BenchmarkMessages is what a hook pays that looks at all messages of a conversation.
func BenchmarkMessages(b *testing.B) {
	for _, count := range []int{100, 2000} {
		s := begunState()
		for range count / 4 {
			s = must(s.WithMessages("", toolStep(executionID(1), 1).Output, after(2)))
		}
		b.Run(strconv.Itoa(count), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.Messages()
			}
		})
	}
}
