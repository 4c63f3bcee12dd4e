package whole_test

import (
	"math/rand/v2"
	"net/http"
	"time"
)

// A faultKind is what befalls a request.
type faultKind string

const (
	noFault faultKind = ""
	// What was surely not billed.
	rateInMillis faultKind = "429 with retry-after-ms"
	ratePlain    faultKind = "429"
	rateByDate   faultKind = "429 with a date"
	broken       faultKind = "500"
	unavailable  faultKind = "503 with retry-after"
	overloaded   faultKind = "529"
	// What may have been.
	gatewayPage faultKind = "502 with a page"
	errorIn200  faultKind = "200 with a JSON error"
	pageIn200   faultKind = "200 with a page"
	reset       faultKind = "reset before the header"
	cutInText   faultKind = "cut in text"
	tornInText  faultKind = "torn in text"
	cutInCall   faultKind = "cut in a call"
	errorEvent  faultKind = "error in the stream"
	stalled     faultKind = "stall"
)

// billed reports whether an attempt that met the fault counts.
func (f faultKind) billed() bool {
	switch f {
	case rateInMillis, ratePlain, rateByDate, broken, unavailable, overloaded:
		return false
	case noFault, gatewayPage, errorIn200, pageIn200, reset, cutInText, tornInText, cutInCall, errorEvent, stalled:
	}
	return true
}

// reply is what is sent in place of a stream.
func (f faultKind) reply(api playedAPI) (refusal, bool) {
	refused := func(status int, body string, header ...string) (refusal, bool) {
		r := refusal{status: status, body: body, media: "application/json", header: http.Header{}}
		for i := 0; i < len(header); i += 2 {
			r.header.Set(header[i], header[i+1])
		}
		return r, true
	}
	page := func(status int) (refusal, bool) {
		return refusal{status: status, media: "text/html", body: "<!DOCTYPE html><html><body>Bad gateway</body></html>"}, true
	}
	switch f {
	case rateInMillis:
		return refused(http.StatusTooManyRequests, api.rate, "Retry-After-Ms", "20", "Retry-After", "1")
	case ratePlain:
		return refused(http.StatusTooManyRequests, api.rate)
	case rateByDate:
		return refused(http.StatusTooManyRequests, api.rate, "Retry-After", time.Now().UTC().Format(http.TimeFormat))
	case broken:
		return refused(http.StatusInternalServerError, api.broken)
	case unavailable:
		return refused(http.StatusServiceUnavailable, api.broken, "Retry-After", "0.02")
	case overloaded:
		return refused(529, api.broken)
	case gatewayPage:
		return page(http.StatusBadGateway)
	case errorIn200:
		return refused(http.StatusOK, api.broken)
	case pageIn200:
		return page(http.StatusOK)
	case reset:
		return refusal{reset: true}, true
	case noFault, cutInText, tornInText, cutInCall, errorEvent, stalled:
	}
	return refusal{}, false
}

// A faultPlan draws what befalls the requests of a run: two of each ten fail.
type faultPlan struct {
	draw *rand.Rand
	// ahead says of the next ones which fail.
	ahead []int
	// stalls are how many may stall: each costs real time.
	stalls int
}

func newFaultPlan(seed uint64, stalls int) *faultPlan {
	return &faultPlan{draw: rand.New(rand.NewPCG(20, seed)), stalls: stalls}
}

// faultKinds are what is drawn from. Cuts in calls are there more than once:
// not all steps have calls.
func faultKinds() []faultKind {
	return []faultKind{
		rateInMillis, ratePlain, rateByDate, broken, unavailable, overloaded, gatewayPage, errorIn200,
		pageIn200, reset, cutInText, tornInText, cutInCall, cutInCall, cutInCall, errorEvent, stalled,
	}
}

func (p *faultPlan) next(calls bool) faultKind {
	if p == nil {
		return noFault
	}
	if len(p.ahead) == 0 {
		p.ahead = p.draw.Perm(10)
	}
	fails := p.ahead[0] < 2
	if p.ahead = p.ahead[1:]; !fails {
		return noFault
	}
	kinds := faultKinds()
	switch fault := kinds[p.draw.IntN(len(kinds))]; {
	case fault == stalled && p.stalls == 0:
		return tornInText
	case fault == stalled:
		p.stalls--
		return fault
	case fault == cutInCall && !calls:
		return cutInText
	default:
		return fault
	}
}
