package workflows

import "everstep/domain"

// checkShown refuses what begins an execution without a value that its model is to
// be shown.
func (s *session) checkShown(given *domain.Given) error {
	values := s.agent.state.SessionTrusted
	if given != nil {
		var err error
		if values, err = values.With(given.Trusted); err != nil {
			return err
		}
	}
	return s.config.upcoming().Definition.CheckShown(values)
}

// showTrusted puts the prompt in force that this execution's trusted values make.
func (s *session) showTrusted() {
	if s.config.Resolved == nil || len(s.config.Definition.ShowTrusted) == 0 {
		return
	}
	if prompt := s.prompt(); prompt != s.config.Resolved.Definition.SystemPrompt {
		s.config.usePrompt(prompt)
	}
}
