package record_test

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gocloud.dev/blob/memblob"

	"everstep/activities/build"
	"everstep/activities/record"
	"everstep/domain"
	"everstep/domain/account"
	"everstep/testsuite/stores"
)

func TestFilesAreReadBack(t *testing.T) {
	t.Parallel()
	all := stores.Sample(t, "ann", 4)
	var plain, small bytes.Buffer
	require.NoError(t, record.Write(&plain, all...))
	require.NoError(t, record.Compressed(&small, all...))
	require.Less(t, small.Len(), plain.Len())
	for _, file := range []*bytes.Buffer{&plain, &small} {
		got, err := record.Read(bytes.NewReader(file.Bytes()))
		require.NoError(t, err)
		var again bytes.Buffer
		require.NoError(t, record.Write(&again, got...))
		require.Equal(t, plain.String(), again.String())
	}
	none, err := record.Read(strings.NewReader(written(t)))
	require.NoError(t, err)
	require.Empty(t, none)
}

// TestWhatIsWrittenSteersNoTerminal, and reads back as it was said.
func TestWhatIsWrittenSteersNoTerminal(t *testing.T) {
	t.Parallel()
	r := stores.Sample(t, "ann", 1)[0]
	r.Ended.Answer = "\u009b31m \u202e \x7f \x1b <b>"
	file := written(t, r)
	require.NotRegexp(t, `[\x{00}-\x{09}\x{0b}-\x{1f}\x{7f}-\x{9f}\x{202a}-\x{202e}\x{2028}]`, file)
	require.Contains(t, file, "<b>")
	got, err := record.Read(strings.NewReader(file))
	require.NoError(t, err)
	require.Equal(t, r.Ended.Answer, got[0].Ended.Answer)
}

func written(t testing.TB, all ...record.Record) string {
	t.Helper()
	var file bytes.Buffer
	require.NoError(t, record.Write(&file, all...))
	return file.String()
}

// head is the first line of a file of a number that a build has written.
func head(number int, writer string, records int) string {
	return fmt.Sprintf("{\"format\":%q,\"schema_version\":%d,\"build\":%s,\"records\":%d}\n", record.Format, number, writer, records)
}

// TestAFileOfAnotherBuildIsRead while its number fits, and says which build that was.
func TestAFileOfAnotherBuildIsRead(t *testing.T) {
	t.Parallel()
	all := stores.Sample(t, "ann", 2)
	_, rest, _ := strings.Cut(written(t, all...), "\n")
	got, err := record.Read(strings.NewReader(head(record.SchemaVersion, `"v9.8.7/sdk-v9.0.0"`, 2) + rest))
	require.NoError(t, err)
	require.Len(t, got, 2)
	require.Equal(t, "v9.8.7/sdk-v9.0.0", got[1].Build)
	got, err = record.Read(strings.NewReader(written(t, all...)))
	require.NoError(t, err)
	require.Equal(t, build.ID(), got[0].Build)
}

// requireBad has a file refused with these words.
func requireBad(t *testing.T, file, want string) {
	t.Helper()
	records, err := record.Read(strings.NewReader(file))
	require.ErrorContains(t, err, want)
	require.Equal(t, domain.Invalid, domain.AsError(err).Kind)
	require.Empty(t, records)
}

// TestBadFilesSayWhere: the line, and the field where there is one.
func TestBadFilesSayWhere(t *testing.T) {
	t.Parallel()
	all := stores.Sample(t, "ann", 2)
	good := written(t, all...)
	lines := strings.SplitAfter(good, "\n")
	by := func(number int, writer string) string { return head(number, writer, 2) + strings.Join(lines[1:], "") }
	for name, test := range map[string]struct{ file, want string }{
		"nothing":                 {"", "line 1: is missing: the file is empty; give one that export has written"},
		"no line":                 {"hello", "line 1: is no head of a file of everstep-records"},
		"half a head":             {lines[0][:len(lines[0])/2+8], "line 1: is missing: the file ends before; it was cut off; export it again, or copy it anew"},
		"a head too long":         {`{"format":"` + record.Format + `","build":"` + strings.Repeat("x", 1<<17) + "\"}\n", "line 1: is no head of a file of everstep-records"},
		"one of gzip":             {"\x1f\x8b\x08\x00hello", "line 1: is compressed with gzip; decompress it"},
		"one of gzip, of lines":   {"\x1f\x8b\x08\x00hel\nlo\n", "line 1: is compressed with gzip; decompress it"},
		"one endless line":        {strings.Repeat("\x00", 1<<20), "line 1: is no head of a file of everstep-records"},
		"no file of ours":         {"hello\n", "line 1: is no head of a file of everstep-records"},
		"another's JSON":          {`{"format":"else"}` + "\n", `line 1: format: is "else"`},
		"a list":                  {"[1]\n", "line 1"},
		"another number":          {by(2, `"v9.8.7/sdk-v9.0.0"`), "line 1: schema_version: is 2, written by build v9.8.7/sdk-v9.0.0, and this build reads 1; read it with that build"},
		"of nobody":               {by(2, `""`), "line 1: schema_version: is 2, written by a build that it does not name, and this build reads 1; read it with the build that wrote it"},
		"of many lines":           {by(2, `"v9\n\u2028\u001b[2J \u202e8"`), "written by build v9 [2J 8, and"},
		"of a blank":              {by(2, `" \n "`), "written by a build that it does not name, and"},
		"of a number":             {by(2, `7`), "written by a build that it does not name, and"},
		"a build that is none":    {by(1, `7`), "line 1: build"},
		"no version":              {strings.Replace(good, `"schema_version":1,`, ``, 1), "line 1: schema_version: is missing"},
		"fewer than said":         {lines[0] + lines[1] + lines[3], "line 3: record: is missing"},
		"more than said":          {lines[0] + lines[1] + lines[2] + lines[2] + lines[3], "line 4: end: is missing"},
		"cut off":                 {good[:len(good)-1], "line 4: is missing: the file ends before; it was cut off"},
		"cut off between records": {lines[0] + lines[1], "line 3: is missing: the file ends before"},
		"a changed word":          {strings.Replace(good, "Nothing.", "Nothing!", 1), "line 2: digest: is not that of the record"},
		"in another order":        {lines[0] + lines[2] + lines[1] + lines[3], "line 4: end: is not the digest of the records"},
		"something after the end": {good + lines[1], "line 5: follows the end"},
		"the same twice":          {written(t, all[0], all[0]), "line 3: record.execution_id"},
		"no end of the messages":  {stores.Forged(strings.Replace(stores.Text(t, all[1]), `,"messages_to":4`, "", 1)), "line 2: record.executions[0].messages_to: is 0; "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requireBad(t, test.file, test.want)
		})
	}
	for _, number := range []string{`"2"`, `1e3`, `1.0`, `99999999999999999999`, `-1`, `0`, `[1]`, `true`, `null`} {
		file := strings.Replace(good, `"schema_version":1,`, `"schema_version":`+number+`,`, 1)
		requireBad(t, file, "line 1: schema_version: is "+number+", which no build writes, and this build reads 1; give it as it was written")
	}
}

// TestBadRecordsSayWhere though their digests fit.
func TestBadRecordsSayWhere(t *testing.T) {
	t.Parallel()
	all := stores.Sample(t, "ann", 2)
	text := stores.Text(t, all[0])
	agent, execution, other := all[0].AgentID.String(), all[0].ExecutionID.String(), all[1].ExecutionID.String()
	for name, test := range map[string]struct{ from, to, want string }{
		"no agent":               {`"agent_id":"` + agent + `"`, `"agent_id":""`, "head.agent_id"},
		"an unknown status":      {`"status":"completed"`, `"status":"sleeping"`, "executions[0].status"},
		"another execution's id": {`"execution_number":1`, `"execution_number":3`, "steps[0].execution_number: is 1, and that of the execution 3"},
		"another session's id":   {`"first_run_id":"first-run"`, `"first_run_id":"other-run"`, "executions[0].execution_id: is "},
		"no session":             {`"first_run_id":"first-run"`, `"first_run_id":""`, "head.run.first_run_id: is missing"},
		"not ended":              {`"status":"completed"`, `"status":"in_progress"`, "executions[0].status: is in_progress"},
		"no time":                {`"started_at":"2026`, `"started_at":"soon`, "executions[0].started_at"},
		"a hostile name":         {`"name":"ann"`, `"name":"../../etc"`, "head.name"},
		"another's name":         {`"name":"ann"`, `"name":"bob"`, `head.name: "bob" is not that of agent`},
		"a newer state":          {`"final_state":{"schema_version":1`, `"final_state":{"schema_version":9`, "executions[0].final_state.schema_version: is 9"},
		"steps left out":         {`"steps":[{`, `"stairs":[{`, `missing: says "", and by its counts the record lacks "step 1"; export it again`},
		"messages left out":      {`"messages":[`, `"letters":[`, `missing: says "", and by its counts the record lacks "messages 0 to 1"`},
		"steps below zero":       {`"step_count":1`, `"step_count":-5`, "executions[0].step_count: is -5"},
		"an outcome of nobody":   {`"executions":[{"agent_id":"` + agent + `",`, `"executions":[{`, "executions[0].agent_id: is "},
		"tokens below zero":      {`"step_count":1,"usage":{"input_tokens":0`, `"step_count":1,"usage":{"input_tokens":-3`, "executions[0].usage.input_tokens: is -3"},
		"endless folded steps":   {`"folded":{"steps":1`, `"folded":{"steps":9223372036854775807`, "executions[0].final_state.execution.folded.steps: is 9223372036854775807"},
		"an endless origin": {`"final_state":{"schema_version":1,`, `"final_state":{"schema_version":1,"origin":{"execution_id":"` + execution + `","step":9000000000000000000},`,
			"executions[0].final_state.origin.step: is 9000000000000000000"},
		"no head":                 {`"head":`, `"tail":`, "head: is missing"},
		"no execution":            {`"executions":`, `"elections":`, "executions: has 0; a record is of one"},
		"no end":                  {`"ended":{"answer":"Nothing."},`, ``, "executions[0].ended: is missing"},
		"no bounds":               {`"constraints":{},`, ``, "executions[0].constraints: is missing"},
		"no state":                {`"final_state":`, `"finale":`, "executions[0].final_state: is missing"},
		"another run":             {`"run_id":"run"`, `"run_id":"other"`, `executions[0].run_id: is "run", and that of the head "other"`},
		"a step of another":       {`"steps":[{"execution_number":1`, `"steps":[{"execution_number":2`, "steps[0].execution_number: is 2, and that of the execution 1"},
		"an event left out":       {`"sequence":2`, `"sequence":3`, `missing: says "", and by its counts the record lacks "event 2"`},
		"an event out of order":   {`"sequence":2`, `"sequence":1`, "events[1].sequence: is 1"},
		"an event of another":     {execution + `","execution_number":1},{"type"`, other + `","execution_number":1},{"type"`, "events[0].execution_id: is "},
		"a text that is no UTF-8": {`"answer":"Nothing."`, "\"answer\":\"\xffNothing.\"", "executions[0].ended.answer: is not UTF-8"},
		"a null event":            {`"events":[`, `"events":[null,`, "events[0]"},
		"a step out of order":     {`"steps":[{"execution_number":1,"number":1`, `"steps":[{"execution_number":1,"number":0`, "steps"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Contains(t, text, test.from)
			requireBad(t, stores.Forged(strings.Replace(text, test.from, test.to, 1)), "line 2: record."+test.want)
		})
	}
	requireBad(t, stores.Forged(strings.ReplaceAll(text, `"execution_number":1`, `"execution_number":-7`)),
		"line 2: record.executions[0].execution_number: is -7")
}

// TestAnErrorOfMissingRangesIsShort, however many the record says it has and whatever part they name.
func TestAnErrorOfMissingRangesIsShort(t *testing.T) {
	t.Parallel()
	r := stores.Sample(t, "ann", 1)[0]
	r.Missing = slices.Repeat([]account.Missing{{Part: "nothing", From: 1, To: 1}}, 100_000)
	_, err := record.Read(strings.NewReader(written(t, r)))
	require.ErrorContains(t, err, `line 2: record.missing: says "nothing 1, nothing 1`)
	require.Less(t, len(err.Error()), 1000)
}

// TestACompressedFileThatWasCutOffIsToldSo, wherever that was.
func TestACompressedFileThatWasCutOffIsToldSo(t *testing.T) {
	t.Parallel()
	var whole bytes.Buffer
	require.NoError(t, record.Compressed(&whole, stores.Sample(t, "ann", 2)...))
	for n := 1; n < whole.Len(); n++ {
		_, err := record.Read(bytes.NewReader(whole.Bytes()[:n]))
		require.ErrorContains(t, err, "it was cut off; export it again, or copy it anew", "%d bytes of %d", n, whole.Len())
	}
}

// TestIDsOfOthersAreRefused: those of steps and calls are the execution's own, as what follows from them is deleted with it.
func TestIDsOfOthersAreRefused(t *testing.T) {
	t.Parallel()
	of := func(change func(*record.Record)) record.Record {
		r := stores.Sample(t, "ann", 1)[0]
		step := r.ExecutionID.Step(1)
		r.Steps[0].Step.ToolExecutions = []domain.ToolExecution{
			{ID: step.Tool(0), Call: domain.ToolCall{ID: "a", Name: domain.SpawnSubagent}}, {ID: step.Tool(1), Call: domain.ToolCall{ID: "b", Name: "look"}},
		}
		change(&r)
		return r
	}
	own, store := of(func(*record.Record) {}), record.InBucket(memblob.OpenBucket(nil), "mem://")
	_, err := record.Read(strings.NewReader(written(t, own)))
	require.NoError(t, err)
	bob := stores.Sample(t, "bob", 1)[0].ExecutionID
	for want, change := range map[string]func(*domain.AgentStep){
		"steps[0].step_id: is ":                               func(s *domain.AgentStep) { s.ID = bob.Step(1) },
		"steps[0].step_id: is 0":                              func(s *domain.AgentStep) { s.ID = domain.StepID{} },
		"steps[0].tool_executions[0].tool_execution_id: is ":  func(s *domain.AgentStep) { s.ToolExecutions[0].ID = bob.Step(1).Tool(0) },
		"steps[0].tool_executions[1].tool_execution_id: is ":  func(s *domain.AgentStep) { s.ToolExecutions[1].ID = own.ExecutionID.Step(1).Tool(0) },
		"steps[0].tool_executions[1].tool_execution_id: is 0": func(s *domain.AgentStep) { s.ToolExecutions[1].ID = domain.ToolExecutionID{} },
	} {
		forged := of(func(r *record.Record) { change(&r.Steps[0].Step) })
		_, err := record.Import(t.Context(), store, record.All(strings.NewReader(written(t, forged))), time.Unix(1, 0))
		require.ErrorContains(t, err, "line 2: record."+want)
		require.Equal(t, domain.Invalid, domain.AsError(err).Kind)
		require.ErrorContains(t, store.Record(t.Context(), forged), want)
	}
	refs, err := store.List(t.Context(), own.AgentID)
	require.NoError(t, err)
	require.Empty(t, refs)
}

// FuzzRead: no file makes it fail but by an error that names the line, and what it reads it writes again.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"format":"everstep-records","schema_version":1,"records":0}` + "\n"))
	f.Add([]byte(`{"format":"everstep-records","schema_version":1,"records":9000000000000000000}` + "\n"))
	f.Add([]byte(`{"format":"everstep-records","schema_version":-1,"records":-1}` + "\n"))
	f.Add([]byte("\x28\xB5\x2F\xFD"))
	var whole, small bytes.Buffer
	all := stores.Sample(f, "ann", 2)
	require.NoError(f, record.Write(&whole, all...))
	require.NoError(f, record.Compressed(&small, all...))
	f.Add(whole.Bytes())
	f.Add(small.Bytes())
	f.Add(append(bytes.Clone(small.Bytes()), small.Bytes()...))
	f.Add(small.Bytes()[:small.Len()/2])
	f.Fuzz(func(t *testing.T, file []byte) {
		records, err := record.Read(bytes.NewReader(file))
		if err != nil {
			require.Empty(t, records)
			require.Contains(t, err.Error(), "line ")
			return
		}
		require.NoError(t, record.Write(&bytes.Buffer{}, records...))
	})
}

// FuzzForged: whatever a record says whose digests are right, it is refused with its line and field, or kept, read back as it
// is, and shown to nobody's model.
func FuzzForged(f *testing.F) {
	text := stores.Text(f, stores.Sample(f, "ann", 1)[0])
	for _, seed := range stores.Changed(f, text, [][2]string{
		{`"number":1`, `"number":-1`}, {`"messages_from":0`, `"messages_from":-5`}, {`"index":0`, `"index":-1`}, {`"index":1`, `"index":9223372036854775807`},
		{`"steps":[`, `"steps":[null,`}, {`"messages":[`, `"messages":[{},`}, {`"status":"completed"`, `"status":""`}, {`"role":"user"`, `"role":"root"`},
		{`"final_state":{`, `"final_state":{"schema_version":99,`}, {`"name":"ann"`, `"name":"\u0000"`}, {`"executions":[{`, `"executions":[{"execution_number":-3,`},
		{`"completed_at":"2026`, `"completed_at":"9999`}, {`"stop_signals":[`, `"origin":{"step":-1},"stop_signals":[`}, {`"events":[`, `"events":[null,`}, {`"sequence":1`, `"sequence":-1`}, {`"head":{`, `"head":null,"was":{`},
	}) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ContainsAny(text, "\r\n") {
			return // it is a line
		}
		file := stores.Forged(text)
		records, err := record.Read(strings.NewReader(file))
		if err != nil {
			require.Equal(t, domain.Invalid, domain.AsError(err).Kind)
			return
		}
		store := record.InBucket(memblob.OpenBucket(nil), "mem://")
		_, err = record.Import(t.Context(), store, record.All(strings.NewReader(file)), time.Unix(1, 0))
		require.NoError(t, err)
		got, err := store.Get(t.Context(), records[0].Ref())
		require.NoError(t, err)
		require.False(t, got.Imported.IsZero())
		require.NoError(t, store.Close())
	})
}

// TestABombIsRefused before it takes memory: a few bytes that are the compressed form of a very long record.
func TestABombIsRefused(t *testing.T) {
	t.Parallel()
	object := bomb(t)
	require.Less(t, len(object), 100<<10)
	file := &counting{r: bytes.NewReader(object)}
	_, err := record.Read(file)
	require.ErrorContains(t, err, "line 2: is longer than 64 MiB")
	require.Less(t, file.n, len(object), "it is not read to the end")
}

type counting struct {
	r io.Reader
	n int
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += n
	return n, err
}
