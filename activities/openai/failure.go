package openai

import (
	"strings"

	"everstep/activities/inference/wire"
	"everstep/domain"
)

// failed is the error that came in place of an answer: the event's, or the
// response's own. It may have been billed. No status says what kind it is of,
// so the API's own codes do where asking again would end the same.
func (s *assembly) failed(data []byte) error {
	err := s.attempt.Inner(data)
	typed := domain.AsError(err)
	r := wire.ParseRejection(data)
	if typed.Kind != domain.Unavailable || typed.Code != "" || r.Status != 0 {
		return err
	}
	code := strings.ToLower(r.Code)
	switch {
	case code == "invalid_prompt", strings.Contains(code, "_policy"):
		typed.Kind, typed.Code = domain.Denied, domain.CodeFiltered
	case strings.HasPrefix(code, "failed_to_"):
	case strings.HasPrefix(code, "invalid_"), strings.Contains(code, "image"), code == "data_residency_mismatch":
		typed.Kind = domain.Invalid
	}
	return typed
}
