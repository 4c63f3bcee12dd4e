// Package asking has the tool ask_user, with which the model asks the person for whom it works. The question waits in the
// agent's workflow: it holds no worker and outlives all of them. Start reading at Tool.
package asking
