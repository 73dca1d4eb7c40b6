package config

// OAuth says where the tokens of the mechanism OAUTHBEARER come from: TokenFile, or TokenURL with ClientID and
// ClientSecret.
type OAuth struct {
	// TokenFile is the file of the token. It is read at each connection, so another program may renew it. Default none.
	TokenFile string `yaml:"token_file,omitempty"`
	// TokenURL is the endpoint that gives tokens for credentials (OAuth 2.0 client credentials). A token is kept until
	// half a minute before its end. Default none.
	TokenURL string `yaml:"token_url,omitempty"`
	// ClientID is the name at the endpoint.
	ClientID string `yaml:"client_id,omitempty"`
	// ClientSecret is its secret, best given as ${NAME}.
	ClientSecret Secret `yaml:"client_secret,omitempty"`
	// Scopes are asked for. Default none: those of the client.
	Scopes []string `yaml:"scopes,omitempty"`
	// CA is the file of the authorities to trust at the endpoint, in PEM. Default none: the system's.
	CA string `yaml:"ca,omitempty"`
}

// checkSASL holds the account against its mechanism.
func checkSASL(d checker, s *SASL) {
	const path = "kafka.sasl"
	d.require(path+".mechanism", orList(Mechanism("").choices()), s.Mechanism != "")
	if s.Mechanism != MechanismOAuth {
		if s.OAuth != nil {
			d.report(path+".oauth", "", "%s.oauth is for the mechanism OAUTHBEARER", path)
		}
		d.require(path+".username", "the name of the account", s.Username != "")
		d.require(path+".password", "its secret, best given as ${NAME}, or kafka.sasl.password_file",
			s.Password != "" || s.PasswordFile != "" || d.bad[path+".password_file"])
		if s.Password != "" && s.PasswordFile != "" {
			d.report(path+".password_file", "",
				"kafka.sasl.password and kafka.sasl.password_file exclude each other: give one")
		}
		return
	}
	for _, key := range []string{".username", ".password", ".password_file"} {
		if d.given(path + key) {
			d.report(path+key, "", "%s%s: the mechanism OAUTHBEARER has tokens in its place, see kafka.sasl.oauth", path, key)
		}
	}
	d.require(path+".oauth", "token_file, or token_url with client_id and client_secret", s.OAuth != nil)
	o := s.OAuth
	if o == nil {
		return
	}
	if d.given(path+".oauth.token_file") == d.given(path+".oauth.token_url") {
		d.report(path+".oauth", "", "%s.oauth needs one of token_file and token_url", path)
		return
	}
	if !d.given(path + ".oauth.token_url") {
		return
	}
	checkAddress(d, path+".oauth.token_url", "https://login/token", o.TokenURL)
	d.require(path+".oauth.client_id", "the name at the endpoint", o.ClientID != "")
	d.require(path+".oauth.client_secret", "its secret, best given as ${NAME}", o.ClientSecret != "")
}
