package render

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"everstep/domain"
)

// Duration is a duration as people read it.
func Duration(d time.Duration) string {
	switch {
	case d < 0:
		return "0 s"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
}

// Counted is a number with its noun.
func Counted[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return grouped(n) + " " + noun + "s"
}

func grouped[N int | int64](n N) string { return message.NewPrinter(language.English).Sprintf("%d", n) }

func size(n int64) string {
	const unit = 1024
	if n < unit {
		return Counted(n, "byte")
	}
	value, units := float64(n)/unit, []string{"KiB", "MiB", "GiB"}
	for len(units) > 1 && value >= unit {
		value, units = value/unit, units[1:]
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", value), ".0") + " " + units[0]
}

// moment is a time as people read it, in their own zone; empty where there is none.
func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format(time.DateTime)
}

// costWords is a cost in dollars, which nobody knows where it is nil.
func costWords(nano *int64) string {
	if nano == nil {
		return "unknown"
	}
	return "$" + domain.USD(*nano)
}

// paidWords is the cost of tokens, marked as they are where it is in part estimated; empty where nothing was used, or it was free.
func paidWords(nano *int64, u domain.Usage) string {
	return where(nano == nil || *nano != 0, where(u.Estimated && nano != nil, "~")+costWords(nano))
}

// Used is what was used, and what that has cost, with what stands between the two.
func Used(between string, u domain.Usage, nano *int64) string {
	return Joined(between, tokens(u), where(nano == nil, "cost ")+paidWords(nano, u))
}

func limitNumber(a domain.Amount) string {
	switch a.Unit() {
	case domain.UnitTime:
		return moment(a.Time())
	case domain.UnitMilliseconds:
		return Duration(time.Duration(a.Seconds() * float64(time.Second)))
	case domain.UnitNanoUSD:
		return a.String()
	default:
	}
	return grouped(a.Int())
}

func limitWords(unit domain.Unit, n *int64) string {
	switch {
	case n == nil:
		return "an unknown amount"
	case unit == domain.UnitMilliseconds:
		return millis(*n)
	}
	return limitNumber(domain.Count(unit, *n))
}

func more(n int, noun string) string { return "… and " + Counted(n, "more "+noun) }

func millis(ms int64) string { return Duration(time.Duration(ms) * time.Millisecond) }

func tokens(u domain.Usage) string {
	return where(u.Estimated, "~") + Counted(u.TotalTokens(), "token")
}

func shortened(text string, n int) string {
	if short := domain.Shorten(text, n); short != text {
		return short + "…"
	}
	return text
}

// Within is a text with what comes before and, where given, after it; empty where it is.
func Within(before, text string, after ...string) string {
	return where(text != "", before+text+strings.Join(after, ""))
}

func where(is bool, text string) string {
	if is {
		return text
	}
	return ""
}

// Joined joins the texts that are not empty.
func Joined(separator string, texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), separator)
}

// value is what a pointer leads to, or zero where that is nil.
func value[T any](of *T) (v T) {
	if of != nil {
		v = *of
	}
	return v
}

// took is how long something took, or takes until now.
func took(began, ended time.Time, over bool, now time.Time) string {
	if ended.IsZero() && !over {
		ended = now
	}
	if began.IsZero() || ended.IsZero() {
		return "-"
	}
	return Duration(ended.Sub(began))
}

// Some is Counted; empty where there is none.
func Some[N int | int64](n N, noun string) string { return where(n > 0, Counted(n, noun)) }

func lasting(since, now time.Time) string {
	return where(!since.IsZero() && now.After(since), ", for "+Duration(now.Sub(since)))
}
