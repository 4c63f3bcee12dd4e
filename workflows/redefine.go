package workflows

import (
	"cmp"
	"slices"
	"strings"

	"everstep/domain"
	"everstep/domain/contract"
)

// adoptDefinition begins an execution with the definition that has waited for it.
func (s session) adoptDefinition() {
	next, ok := s.config.adoptNext()
	if !ok {
		return
	}
	if slices.Contains(next.Word.Fields, "model") {
		s.useModel(next.Definition.Model)
	}
	if rebudgets(&next) {
		s.limitSession(next.Definition.SessionBudget)
	}
	s.instruct(next.Definition)
}

func (s session) checkRedefine(request contract.RedefineRequest) error {
	switch {
	case s.in.Name == "":
		return domain.Errorf(domain.Denied, "update: the agent has no name, so no execution follows; start another with --id NAME")
	case s.mail.Closed():
		return domain.Errorf(domain.Denied, "update: the session is closed")
	}
	for _, key := range request.Fields {
		if !slices.Contains(domain.DefinitionKeys(), key) {
			return domain.Errorf(domain.Invalid, "fields: a definition has no %q", domain.Shorten(key, 64))
		}
	}
	upcoming := s.config.upcoming()
	next := s.redefinedBy(request)
	_, malformed := s.state.WithResponseFormat(next.Format, s.now())
	return cmp.Or(upcoming.CheckRedefined(next), malformed, next.Budget.CheckDeadline(s.now()), contract.CheckSaid(request.By, request.Reason),
		s.checkListed(next), s.checkHandedOn("update", "send it when those messages are read, or give a shorter definition", new(s.redefinition(request))))
}

// checkListed refuses a definition that is too long with the tools that the session has now.
func (s session) checkListed(next domain.Definition) error {
	resolved := contract.Resolved{}
	if s.config.resolved != nil {
		resolved = *s.config.resolved
	}
	resolved.Definition = next
	return domain.CheckFits("definition, with its tools", resolved, domain.MaxResolved)
}

// redefineSession takes what was checked. Two that come before an execution begins are one.
func (s session) redefineSession(request contract.RedefineRequest) contract.RedefineReply {
	next := s.redefinition(request)
	if len(next.Word.Fields) > 0 || s.config.next != nil {
		s.config.redefine(next)
	}
	return contract.RedefineReply{Number: s.state.ExecutionCount + 1, Fields: next.Word.Fields}
}

// redefinition is what waits for the next execution, once a request was taken.
func (s session) redefinition(request contract.RedefineRequest) contract.Redefinition {
	next := s.redefinedBy(request)
	word := contract.NoteOf(request, s.now(), s.config.own.Differing(next))
	asks := s.names(request, "model") || s.config.next != nil && slices.Contains(s.config.next.Word.Fields, "model")
	if asks && !slices.Contains(word.Fields, "model") && !next.Model.Equal(s.state.LLMConfig) {
		word.Fields = append(word.Fields, "model") // a message has given it another meanwhile
	}
	word.Fields = s.withSessionBudget(word.Fields, request, next)
	word = s.withEarlierNotes(word)
	return contract.Redefinition{Definition: next, Word: word, Fields: contract.Joined(s.config.next, request.Fields)}
}

// withEarlierNotes returns the note (who, when, why) on an update of the definition with the notes of the updates that still
// wait for the next execution: they take effect as one, and stay listed one by one.
func (s session) withEarlierNotes(word contract.UpdateNote) contract.UpdateNote {
	if s.config.next == nil {
		return word
	}
	return word.After(s.config.next.Word)
}

// redefinedBy is the definition with what a request asks for. Parts of the model are of the one that the session uses.
func (s session) redefinedBy(request contract.RedefineRequest) domain.Definition {
	if s.names(request, "model") {
		return request.Over(s.asItIs())
	}
	return request.Over(s.config.upcoming())
}

// names reports whether a request is about a field, or about a part of it.
func (s session) names(request contract.RedefineRequest, key string) bool {
	return len(request.Fields) == 0 || slices.ContainsFunc(request.Fields, func(given string) bool {
		return given == key || strings.HasPrefix(given, key+".")
	})
}

// withSessionBudget are the fields in which a definition that waits differs, with the session's budget where it is another
// than the one in force: whoever gives one means it, also where the session was extended since.
func (s session) withSessionBudget(fields []string, request contract.RedefineRequest, next domain.Definition) []string {
	fields = slices.DeleteFunc(fields, func(key string) bool { return key == contract.FieldSessionBudget })
	account, _ := s.state.Session()
	named := rebudgets(s.config.next) || s.names(request, contract.FieldSessionBudget)
	if named && !next.SessionBudget.Equal(account.Budget) {
		fields = append(fields, contract.FieldSessionBudget)
	}
	return fields
}
