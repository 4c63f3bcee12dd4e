package agentfile_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/starter/agentfile"
)

// setFields notes which fields of structs are set somewhere in a value, and which it has met.
func setFields(v reflect.Value, set, all map[string]bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			setFields(v.Elem(), set, all)
		}
	case reflect.Slice:
		for i := range v.Len() {
			setFields(v.Index(i), set, all)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			setFields(v.MapIndex(key), set, all)
		}
	case reflect.Struct:
		for field, value := range v.Fields() {
			if !field.IsExported() {
				continue
			}
			name := v.Type().Name() + "." + field.Name
			all[name] = true
			set[name] = set[name] || !value.IsZero()
			setFields(value, set, all)
		}
	default: // it holds no fields
	}
}

// TestEachFieldHasAKey: what a definition can say a file can say, and the files in testdata together say all of it.
func TestEachFieldHasAKey(t *testing.T) {
	t.Parallel()
	set, all := map[string]bool{}, map[string]bool{}
	for _, path := range validFiles(t) {
		f, err := agentfile.Settings{}.Load(path)
		require.NoError(t, err)
		setFields(reflect.ValueOf(f.Definition), set, all)
	}
	for field := range all {
		require.True(t, set[field], "domain.%s: no file in testdata/valid sets it; a key in agentfile/file.go and a line in full.yaml do", field)
	}
}
