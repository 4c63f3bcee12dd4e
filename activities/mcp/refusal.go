package mcp

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"everstep/domain"
)

// A mistake is why a server fails each time that it is started, until somebody mends that.
type mistake struct{ error }

// refused is the error of a server that is not reached, or does not list its tools. Where another try would come to the same it
// is of a kind that is not tried again, and says what to mend.
func (s *server) refused(what string, sent *sending, err error) *domain.Error {
	at := sent.sofar()
	said, _ := errors.AsType[*jsonrpc.Error](err)
	_, mistaken := errors.AsType[mistake](err)
	if lost, ok := errors.AsType[*url.Error](err); ok {
		err = lost // which says all, without the SDK's way to it
	} else if answered(err) {
		err = fmt.Errorf("%s (%d)", said.Message, said.Code)
	}
	made, unmended := s.unavailable("%s: %s", what, err), ""
	if at.status >= 300 && !at.keepsOut() {
		made = s.unavailable("%s: it answers %s", what, at.words())
	}
	switch {
	case at.status == http.StatusTooManyRequests:
		made.Kind, made.RetryAfter = domain.Throttled, at.wait
	case at.keepsOut():
		if !at.tokenLater {
			made = s.denied(at, err)
		}
	case at.status >= 300:
		if at.status < 500 && at.status != http.StatusRequestTimeout {
			unmended = "mend its url in"
		}
	case mistaken:
		unmended = "mend its command, args, env or cwd in"
	case said != nil && said.Code == codeUnread:
		made, unmended = s.unavailable("%s: %s", what, said.Message), "mend the server, or take it out of"
	case said != nil && (said.Code == jsonrpc.CodeMethodNotFound || said.Code == jsonrpc.CodeInvalidParams):
		unmended = "mend the server, or take it out of"
	}
	if unmended != "" {
		made.Kind, made.Code, made.Message = domain.Invalid, domain.CodeUnknownTool, made.Message+s.remedy(unmended)
	}
	made.Message = s.options.Redact(made.Message)
	return made
}

// remedy says what to do with the worker's file, and how to try that.
func (s *server) remedy(do string) string {
	return fmt.Sprintf("; %s the worker's file of MCP servers (%s), then try: starter mcp check %s", do, FileVariable, s.config.Name)
}

// denied is the error of a server over HTTP that does not let the worker in.
func (s *server) denied(at progressed, err error) *domain.Error {
	refuses := fmt.Sprintf("MCP server %s refuses who asks (%s)", s.config.Name, at.words())
	names := slices.Compact(slices.Sorted(slices.Values(s.config.Secrets())))
	do := "name what proves who asks as ${NAME} in its headers in"
	switch {
	case s.config.OAuth != nil && !answered(err):
		refuses += ", and no token was got: " + domain.Shorten(err.Error(), 500)
		do = "mend its oauth in"
	case len(names) > 0:
		do = "mend what ${" + strings.Join(names, "}, ${") + "} stands for where the worker runs, or its entry in"
	}
	return domain.CodedErrorf(domain.Denied, domain.CodeAuth, "%s%s", refuses, s.remedy(do))
}
