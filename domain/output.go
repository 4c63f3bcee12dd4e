package domain

// An OutputRequest asks whether a text fits a response format. It is asked only
// where a hook has changed the model's answer: CallModel checks its own.
type OutputRequest struct {
	Format ResponseFormat `json:"response_format"`
	Text   string         `json:"text"`
}

// An OutputReply says what is wrong with the text; empty where it fits.
type OutputReply struct {
	Invalid string `json:"invalid,omitzero"`
}
