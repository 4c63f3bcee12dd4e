package workflows

import "everstep/domain"

// failOver lets the next model take over that is set to do so for an error. The
// step is over and stays as it is; the next one begins with the other model. It
// answers false where none takes over.
func (s *session) failOver(step *turn, err *domain.Error) bool {
	failure, ok := domain.FailureOf(err)
	if !ok || s.mail.NoTools() || step.halts > 0 {
		return false
	}
	fallbacks := s.resolved.Definition.Fallbacks
	for i := s.guarded.Fallback; i < len(fallbacks); i++ {
		if !fallbacks[i].Takes(failure) {
			continue
		}
		if s.guarded.Primary == nil {
			s.guarded.Primary = new(s.state.LLMConfig())
		}
		s.guarded.Fallback = i + 1
		s.useModel(fallbacks[i].Model)
		step.failedOver = true
		return true
	}
	return false
}

// restoreModel gives the next execution the model that the one before began with.
func (s *session) restoreModel() {
	if primary := s.guarded.Primary; primary != nil {
		s.useModel(*primary)
	}
	s.guarded.Primary, s.guarded.Fallback = nil, 0
}
