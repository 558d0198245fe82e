//! Ways in which the two servers misbehave, set and cleared while they run.
//!
//! Each has a name for the command line. Several may be set at once; a reply then shows all that concern it.
//! [`Fault::forbids_sign_in`] says after which of them a client must not go on.

use std::fmt;
use std::str::FromStr;

macro_rules! faults {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// One way to misbehave.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Fault { $($(#[$doc])* $variant,)* }

        impl Fault {
            /// Every one of them, in the order of a sign-in.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Its name on the command line.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

faults! {
    /// `WWW-Authenticate` ends in the middle of a quoted text.
    ChallengeMalformed = "challenge-malformed",
    /// A Basic challenge before the Bearer challenge, in one header line.
    ChallengeTwo = "challenge-two",
    /// A Basic challenge before the Bearer challenge, in header lines of their own.
    ChallengeTwoLines = "challenge-two-lines",
    /// `resource_metadata` is a path.
    ChallengeRelative = "challenge-relative",
    /// `resource_metadata` is at another origin, which serves the true document.
    ChallengeElsewhere = "challenge-elsewhere",
    /// A 401 without `WWW-Authenticate`.
    ChallengeMissing = "challenge-missing",
    /// The protected resource metadata is for another resource.
    ResourceLies = "resource-lies",
    /// The protected resource metadata is a page of HTML.
    ResourceMetadataHtml = "resource-metadata-html",
    /// The protected resource metadata does not arrive as long as this is set.
    ResourceMetadataHangs = "resource-metadata-hangs",
    /// The protected resource metadata is a redirect to another origin, which serves the true document.
    ResourceMetadataRedirects = "resource-metadata-redirects",
    /// The protected resource metadata names no authorization server.
    NoAuthorizationServer = "no-authorization-server",
    /// The protected resource metadata names an authorization server at a private address.
    AuthorizationServerPrivate = "authorization-server-private",
    /// `issuer` in the metadata is another one.
    IssuerLies = "issuer-lies",
    /// The metadata has no `issuer`.
    IssuerMissing = "issuer-missing",
    /// The metadata is a page of HTML.
    MetadataHtml = "metadata-html",
    /// The metadata does not arrive as long as this is set.
    MetadataHangs = "metadata-hangs",
    /// The metadata is a redirect to another origin, which serves the true document.
    MetadataRedirects = "metadata-redirects",
    /// The metadata request fails with 500.
    MetadataBreaks = "metadata-breaks",
    /// The metadata is followed by 16 MB of spaces.
    MetadataHuge = "metadata-huge",
    /// The metadata lacks `code_challenge_methods_supported`.
    PkceMissing = "pkce-missing",
    /// The metadata offers `plain` alone.
    PkcePlain = "pkce-plain",
    /// The metadata has no registration endpoint, and there is none.
    NoRegistrationEndpoint = "no-registration-endpoint",
    /// The authorization endpoint is `http://example.invalid/authorize`.
    AuthorizationEndpointPlain = "authorization-endpoint-plain",
    /// The authorization endpoint is a `javascript:` address.
    AuthorizationEndpointScript = "authorization-endpoint-script",
    /// The token endpoint is `http://10.0.0.1/token`.
    TokenEndpointPrivate = "token-endpoint-private",
    /// Registration is refused with 403 and HTML.
    RegistrationForbidden = "registration-forbidden",
    /// Registration is refused with 400 `invalid_redirect_uri`.
    RegistrationInvalid = "registration-invalid",
    /// A registered client gets a secret that expires at once: its token requests are `invalid_client`.
    RegistrationExpires = "registration-expires",
    /// `iss` in the callback is another issuer.
    CallbackIssuerWrong = "callback-issuer-wrong",
    /// No `iss` in the callback, though the metadata promises it.
    CallbackIssuerMissing = "callback-issuer-missing",
    /// `state` in the callback is another one.
    StateAltered = "state-altered",
    /// No `state` in the callback.
    StateMissing = "state-missing",
    /// The callback says `access_denied`, with HTML in `error_description`.
    CallbackDenied = "callback-denied",
    /// The token endpoint answers 200 with HTML.
    TokenHtml = "token-html",
    /// The token endpoint fails with 500.
    TokenBreaks = "token-breaks",
    /// The token endpoint does nothing as long as this is set; requests are counted at once.
    TokenHangs = "token-hangs",
    /// The token endpoint does its work and never answers: what it issued is lost.
    TokenAnswerLost = "token-answer-lost",
    /// The token endpoint redirects (307) to another origin.
    TokenRedirects = "token-redirects",
    /// The token answer has no `access_token`.
    TokenMissing = "token-missing",
    /// `token_type` is `mac`.
    TokenTypeWrong = "token-type-wrong",
    /// The token answer has no `token_type`.
    TokenTypeMissing = "token-type-missing",
    /// The access token has 64 kB.
    TokenLong = "token-long",
    /// The access token has control characters, among them a line end.
    TokenControl = "token-control",
    /// The token answer has no `expires_in`.
    ExpiresMissing = "expires-missing",
    /// `expires_in` is 0.
    ExpiresZero = "expires-zero",
    /// `expires_in` is -1.
    ExpiresNegative = "expires-negative",
    /// `expires_in` is a string.
    ExpiresText = "expires-text",
    /// `expires_in` has a fraction.
    ExpiresFraction = "expires-fraction",
    /// `expires_in` is the largest number of 64 bits.
    ExpiresAbsurd = "expires-absurd",
    /// Fewer scopes are granted than were asked for: the first alone.
    ScopeReduced = "scope-reduced",
    /// No refresh token is issued.
    NoRefreshToken = "no-refresh-token",
    /// A refresh answers without a new refresh token, and the old one stays good. This is allowed.
    RefreshKeeps = "refresh-keeps",
    /// A refresh answers `invalid_grant`.
    RefreshInvalidGrant = "refresh-invalid-grant",
    /// A refresh answers `invalid_client`, and the registration is forgotten.
    RefreshInvalidClient = "refresh-invalid-client",
    /// A refresh rotates, and the new refresh token is not accepted.
    RefreshForgets = "refresh-forgets",
    /// A refresh fails with 503.
    RefreshUnavailable = "refresh-unavailable",
    /// The protected server refuses tokens that are good.
    TokenRevoked = "token-revoked",
    /// The protected server answers 403 `insufficient_scope` whatever the token may do.
    StepUpEndless = "step-up-endless",
}

impl Fault {
    /// Whether a client that sees this must not send a person to the authorization endpoint.
    #[must_use]
    pub fn forbids_sign_in(self) -> bool {
        matches!(
            self,
            Self::ResourceLies
                | Self::ResourceMetadataRedirects
                | Self::AuthorizationServerPrivate
                | Self::IssuerLies
                | Self::IssuerMissing
                | Self::MetadataRedirects
                | Self::PkceMissing
                | Self::PkcePlain
                | Self::AuthorizationEndpointPlain
                | Self::AuthorizationEndpointScript
                | Self::TokenEndpointPrivate
        )
    }

    /// Whether the code that comes with such a callback must not be redeemed.
    pub(super) fn spoils_callback(self) -> bool {
        matches!(
            self,
            Self::CallbackIssuerWrong | Self::CallbackIssuerMissing | Self::StateAltered | Self::StateMissing
        )
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// A name that is no fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownFault(String);

impl fmt::Display for UnknownFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = Fault::ALL.iter().map(|fault| fault.name()).collect();
        write!(out, "unknown fault `{}`; use one of {}", self.0, names.join(", "))
    }
}

impl std::error::Error for UnknownFault {}

impl FromStr for Fault {
    type Err = UnknownFault;

    fn from_str(name: &str) -> Result<Self, UnknownFault> {
        Self::ALL.iter().copied().find(|fault| fault.name() == name).ok_or_else(|| UnknownFault(name.to_owned()))
    }
}
