package workflows

import "everstep/domain"

// checkShown refuses what begins an execution without a value that its model is to
// be shown.
func (c *configuration) checkShown(given *domain.StartOptions) error {
	values := c.agent.state.SessionTrusted
	if given != nil {
		var err error
		if values, err = values.With(given.Trusted); err != nil {
			return err
		}
	}
	return c.upcoming().Definition.CheckShown(values)
}

// showTrusted puts the prompt in force that this execution's trusted values make.
func (c *configuration) showTrusted() {
	if c.Resolved == nil || len(c.Definition.ShowTrusted) == 0 {
		return
	}
	if prompt := c.prompt(); prompt != c.Resolved.Definition.SystemPrompt {
		c.usePrompt(prompt)
	}
}
