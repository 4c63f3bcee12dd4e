package mcp

import (
	"context"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/auth/extauth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

// An authorizer gets the tokens for one connection, when its server first refuses a
// request and again when they have expired. It is the SDK's, which may not be used by
// many at once and uses the context of one request for tokens of later ones.
type authorizer struct {
	config  OAuth
	options Options
	client  *http.Client

	mu sync.Mutex
	// made is the SDK's, with that secret; nil: no token was needed yet.
	made   *extauth.ClientCredentialsHandler
	secret string
}

// TokenSource implements the SDK's handler; nil: there is no token yet.
func (a *authorizer) TokenSource(ctx context.Context) (oauth2.TokenSource, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.made == nil {
		return nil, nil
	}
	tokens, err := a.made.TokenSource(ctx)
	if err != nil || tokens == nil {
		return nil, err
	}
	return hidden{tokens, a.options.Hide}, nil
}

// Authorize implements the SDK's handler: it gets a token for a request that was refused.
func (a *authorizer) Authorize(ctx context.Context, request *http.Request, refused *http.Response) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	secret, err := a.config.Secret.with(a.options.Secret, nil)
	if err == nil && (a.made == nil || secret != a.secret) {
		a.secret = secret
		a.made, err = extauth.NewClientCredentialsHandler(&extauth.ClientCredentialsHandlerConfig{HTTPClient: a.client, Credentials: &oauthex.ClientCredentials{
			ClientID: a.config.ClientID, Issuer: a.config.Issuer, ClientSecretAuth: &oauthex.ClientSecretAuth{ClientSecret: secret},
		}})
	}
	if err != nil {
		_ = refused.Body.Close() // nobody reads it
		return err
	}
	return a.made.Authorize(context.WithoutCancel(ctx), request, refused)
}

// authorizing notes of an authorization server that it fails just now.
type authorizing struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (a authorizing) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := a.next.RoundTrip(request)
	later := err != nil || response.StatusCode >= http.StatusInternalServerError || response.StatusCode == http.StatusTooManyRequests || response.StatusCode == http.StatusRequestTimeout
	sendingOf(request.Context()).note(func(s *sending) { s.tokenLater = later })
	return response, err
}

// hidden tells of each token before it is used.
type hidden struct {
	oauth2.TokenSource
	hide func(string)
}

// Token implements oauth2.TokenSource.
func (h hidden) Token() (*oauth2.Token, error) {
	token, err := h.TokenSource.Token()
	if err == nil {
		h.hide(token.AccessToken)
	}
	return token, err
}
