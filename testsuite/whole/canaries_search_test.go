package whole_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/proxy"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"

	"everstep/worker/host/codec"
)

// A canary is a secret of this run of the test only. Its ends are told from
// anything else, also where one of them alone is left.
type canary struct{ head, tail string }

func newCanary() canary {
	random := strings.ReplaceAll(uuid.NewString(), "-", "")
	return canary{random[:13], random[19:]}
}

// key is the canary as a key: with characters that JSON, URLs and base64 write
// in other ways.
func (c canary) key() string { return "sk-" + c.head + "/+&=~" + c.tail }

// in says how a canary, or an end of it, stands in a text. Empty: it does not.
func (c canary) in(data []byte) string {
	for _, end := range []string{c.head, c.tail} {
		inHex := hex.EncodeToString([]byte(end))
		switch {
		case bytes.Contains(data, []byte(end)):
			return "as it is"
		case bytes.Contains(data, []byte(inHex)), bytes.Contains(data, []byte(strings.ToUpper(inHex))):
			return "in hex"
		}
		for before := range 3 {
			encoded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", before) + end))
			if bytes.Contains(data, []byte(encoded[2*before:len(encoded)-4])) {
				return "in base64"
			}
		}
	}
	return ""
}

// A trove is all that anybody could look into, by where it was found.
type trove struct {
	mu    sync.Mutex
	finds map[string][]byte
}

func (v *trove) add(place string, data []byte) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.finds == nil {
		v.finds = map[string][]byte{}
	}
	v.finds[place] = append(append(v.finds[place], data...), '\n')
}

// addFiles adds what the files of a folder hold, those that are compressed
// decoded as well.
func (v *trove) addFiles(t *testing.T, place, folder string) {
	t.Helper()
	decoder, err := zstd.NewReader(nil)
	require.NoError(t, err)
	defer decoder.Close()
	require.NoError(t, filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		v.add(place, append([]byte(path+"\n"), data...))
		if plain, err := decoder.DecodeAll(data, nil); err == nil {
			v.add(place+", decoded", plain)
		}
		return nil
	}))
}

// addState adds the files of a dev server's state, as they lie on the disk.
func (v *trove) addState(t *testing.T, server string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(servers.dir, server+".db*"))
	require.NoError(t, err)
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		v.add("state", data)
	}
}

// A lookout reads from a server what it keeps of a task queue.
type lookout struct {
	*stack
	trove *trove
	codec *codec.Codec
}

func newLookout(t *testing.T, s *stack, v *trove) *lookout {
	t.Helper()
	plain := codec.New()
	return &lookout{stack: s, trove: v, codec: plain}
}

// add adds a message as it came, and with its payloads decoded.
func (l *lookout) add(place string, message proto.Message) error {
	raw, err := proto.Marshal(message)
	if err != nil {
		return err
	}
	l.trove.add(place, raw)
	plain, err := l.plain(message)
	if err != nil {
		return err
	}
	l.trove.add(place+", decoded", plain)
	return nil
}

// plain is a message with its payloads decoded.
func (l *lookout) plain(message proto.Message) ([]byte, error) {
	message = proto.Clone(message)
	err := proxy.VisitPayloads(context.Background(), message, proxy.VisitPayloadsOptions{
		Visitor: func(_ *proxy.VisitPayloadsContext, payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
			return l.codec.Decode(payloads)
		},
	})
	if err != nil {
		return nil, err
	}
	return proto.Marshal(message)
}

// heartbeats reads what a workflow's pending activities have told, again and
// again until the function that it returns is called. It calls seen once a text
// is in it.
func (l *lookout) heartbeats(t *testing.T, id, text string, seen func()) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		var once sync.Once
		ticker := time.NewTicker(10 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			found, err := l.temporal.DescribeWorkflowExecution(ctx, id, "")
			if err != nil || len(found.GetPendingActivities()) == 0 {
				continue
			}
			plain, err := l.plain(found)
			if err != nil || l.add("heartbeats", found) != nil {
				continue
			}
			if bytes.Contains(plain, []byte(text)) {
				once.Do(seen)
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// everything reads all histories of the task queue, and what lists show. It
// returns how many runs there are.
func (l *lookout) everything(t *testing.T) int {
	t.Helper()
	ctx, runs := within(t), 0
	listed, err := l.temporal.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		Query: fmt.Sprintf("TaskQueue = '%s'", l.queue), PageSize: 500,
	})
	require.NoError(t, err)
	require.NoError(t, l.add("visibility", listed))
	for _, found := range listed.GetExecutions() {
		runs++
		execution := found.GetExecution()
		described, err := l.temporal.DescribeWorkflowExecution(ctx, execution.GetWorkflowId(), execution.GetRunId())
		require.NoError(t, err)
		require.NoError(t, l.add("visibility", described))
		events := l.temporal.GetWorkflowHistory(ctx, execution.GetWorkflowId(), execution.GetRunId(), false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			event, err := events.Next()
			require.NoError(t, err)
			require.NoError(t, l.add("history", event))
		}
	}
	return runs
}
