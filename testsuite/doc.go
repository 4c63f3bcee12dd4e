// Package testsuite tests agents in memory: the real workflow, the real
// activities and your own tools run with a model that plays a script. No server,
// no key, no network; a test takes milliseconds whatever its delays are, because
// time is skipped.
//
//	env := testsuite.New(t, testsuite.Config{
//		Tools:  []tool.Tool{weather()},
//		Script: `turns: [
//			{tool_calls: [{name: weather, arguments: {city: Oslo}}]},
//			{text: "It is {{ result \"weather\" }}."}]`,
//	})
//	run := env.Run("What is the weather in Oslo?")
//	require.Equal(t, "It is sunny.", run.Answer)
//	require.Equal(t, []string{"weather"}, run.Called())
//
// Its main type is [Env]. A [Fake] stands in for a tool that the test must not
// really call. [StopAt], [SendAt], [PauseAt], [ExtendAt] and their kin do
// something while the agent runs; [KillAt] kills its worker. Hooks and compilers run as they do on a worker,
// and each execution of a [Run] has its events.
//
// Its one rule: only the model is played. What a test sees of budgets, stops,
// retries, effects and transcripts is done by the code that does it in
// production.
//
// [Replay] and [ReplayFiles] are for what is running already: they replay
// histories against the workflow and hooks as they are now, and fail where
// something else would be done.
//
// What it cannot show, because it has no server: what a worker's death does to the
// workflow itself, continuing as new, storage, and how long anything takes. The clock of
// the workflow moves from one timer to the next, so the times in steps say
// nothing; a delay that a provider asks for is not kept, the attempt comes by
// the retry policy. For crashes there is `go run ./testsuite/proof chaos`.
//
// Start reading at [New] and [Env.Run]. The folders guards and whole hold tests of
// Everstep itself.
package testsuite
