package domain

// An OutputMode says how a model is told of a response format. The answer is
// checked all the same.
type OutputMode string

const (
	// OutputNative uses the provider's own feature.
	OutputNative OutputMode = "native"
	// OutputTool offers a tool whose arguments are the answer.
	OutputTool OutputMode = "tool"
	// OutputInstruction tells the model in the system prompt.
	OutputInstruction OutputMode = "instruction"
)

// OutputModes lists every mode.
func OutputModes() []OutputMode { return []OutputMode{OutputNative, OutputTool, OutputInstruction} }

// UnmarshalText accepts the known modes, and the empty text, which lets the
// worker choose.
func (m *OutputMode) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*m = ""
		return nil
	}
	return decodeEnum(m, text, OutputModes(), "output mode")
}

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
