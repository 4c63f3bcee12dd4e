package account_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"everstep/domain/account"
)

// TestARawAccountIsTheAccount of an execution, whatever its runs hold of it and however their pages are cut.
func TestARawAccountIsTheAccount(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p, request := drawPast(t), drawRequest(t)
		if len(p.ids) == 0 {
			t.Skip("nothing has begun")
		}
		request.Execution = rapid.IntRange(1, len(p.ids)).Draw(t, "execution")
		request.Want = slices.Concat(lists, []account.Part{account.HeadOf})
		values, _, err := runs(p, func(page account.Page) account.Page { return page }).Account(strconv.Itoa(len(p.runs)-1), request)
		require.NoError(t, err)
		raw, _, err := runs(p, func(page account.Page) account.RawPage { return rawPage(t, page) }).Account(strconv.Itoa(len(p.runs)-1), request)
		require.NoError(t, err)
		decoded := account.Account{Head: raw.Head, Executions: raw.Executions, Messages: raw.Messages}
		decode(t, raw.Steps, &decoded.Steps)
		decode(t, raw.Events, &decoded.Events)
		require.Equal(t, short(values), short(decoded))
		for i, step := range decoded.Steps {
			require.Equal(t, step.Number, raw.Steps[i].Number)
		}
		for i, event := range decoded.Events {
			require.EqualValues(t, event.Sequence, raw.Events[i].Number)
		}
	})
}

// runs are those of a past, with pages in a form of account A.
func runs[A interface {
	With(A) A
	After(A, account.Held) A
}, P interface {
	Parts() (A, account.PageEnd)
}](p past, form func(account.Page) P) account.Runs[A] {
	return account.Runs[A]{
		Gone: func(error) bool { return false },
		Before: func(run account.Run) (string, error) {
			if run.ID == "0" {
				return "", nil
			}
			n, err := strconv.Atoi(run.ID)
			return strconv.Itoa(n - 1), err
		},
		Read: func(id string, r account.Request) (A, account.Held, error) {
			n, _ := strconv.Atoi(id)
			return account.ReadRun(r, func(r account.Request) (P, error) {
				page, _ := p.page(n, r)
				return form(page), nil
			})
		},
	}
}

func rawPage(t require.TestingT, page account.Page) account.RawPage {
	raw := account.RawPage{Raw: account.Raw{Head: page.Head, Executions: page.Executions, Messages: page.Messages}, PageEnd: page.PageEnd}
	decode(t, page.Steps, &raw.Steps)
	decode(t, page.Events, &raw.Events)
	return raw
}

func decode[In, Out any](t require.TestingT, list []In, into *[]Out) {
	for _, item := range list {
		text, err := json.Marshal(item)
		require.NoError(t, err)
		var out Out
		require.NoError(t, json.Unmarshal(text, &out))
		*into = append(*into, out)
	}
}
