package workflows

import (
	"go.temporal.io/sdk/workflow"

	"everstep/domain"
)

// beginsWithTrusted is the version from which an execution begins with trusted values.
// It must never change.
const beginsWithTrusted = "trusted"

// trusting is what is given, but without trusted values where an older worker began
// without them.
func (s session) trusting(given *domain.Given) *domain.Given {
	if len(given.Trusted) == 0 || workflow.GetVersion(s.root, beginsWithTrusted, workflow.DefaultVersion, 1) != workflow.DefaultVersion {
		return given
	}
	without := *given
	without.Trusted = nil
	return &without
}

// checkShown refuses what begins an execution without a value that its model is to
// be shown. It asks what was given, also where an older worker began without that.
func (s session) checkShown(given *domain.Given) error {
	values := s.state.SessionTrusted()
	if given != nil {
		var err error
		if values, err = values.With(given.Trusted); err != nil {
			return err
		}
	}
	return s.upcoming().CheckShown(values)
}

// showTrusted puts the prompt in force that this execution's trusted values make.
func (s session) showTrusted() {
	if s.resolved == nil || len(s.own.ShowTrusted) == 0 {
		return
	}
	if prompt := s.prompt(); prompt != s.resolved.Definition.SystemPrompt {
		s.prompted(prompt)
	}
}
