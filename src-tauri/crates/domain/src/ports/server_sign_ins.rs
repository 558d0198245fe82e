//! The port to signing in to servers: OAuth as people see it, without its tokens.
//!
//! The adapter finds out where to sign in, waits for the browser, keeps the tokens behind the [`Secrets`](super::Secrets)
//! port, and renews them. Who signed in, and when, is the engine's (`servers/person_acts/sign_in.rs`).

use std::time::Duration;

use futures_core::future::BoxFuture;

use super::{PortFuture, Secret, SecretError};
use crate::ids::ServerId;
use crate::server::Server;
use crate::time::Timestamp;

/// Signs in to servers over HTTP, and knows how it is with their tokens.
pub trait ServerSignIns: Send + Sync + 'static {
    /// Finds out where to sign in, registers Taskwarden there if need be, and waits for the browser. An earlier attempt
    /// that still waits is given up.
    ///
    /// # Errors
    /// When it is not known where, or the place does not do what the protocol says.
    fn begin<'a>(&'a self, server: &'a Server, wish: SignInWish) -> PortFuture<'a, Result<SignInBegun, SignInFault>>;
    /// Takes the address at which a browser elsewhere ended, instead of waiting for it here.
    ///
    /// # Errors
    /// When nothing waits, or the address is not the one that ends this sign-in. It goes on waiting then.
    fn finish<'a>(&'a self, server: ServerId, address: &'a str) -> PortFuture<'a, Result<(), SignInFault>>;
    /// Ends the wait for the browser; nothing is changed.
    fn give_up(&self, server: ServerId);
    /// Forgets the tokens here, and asks the issuer to forget them; says whether it did.
    ///
    /// # Errors
    /// When they cannot be removed from where secrets lie.
    fn sign_out<'a>(&'a self, server: &'a Server) -> PortFuture<'a, Result<Revocation, SecretError>>;
    /// How it is with the token of a server.
    fn facts(&self, server: &Server) -> TokenFacts;
}

/// How a person wants to sign in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SignInWish {
    /// The client that the person registered there by hand.
    pub client: Option<OwnClient>,
    /// Permissions to ask for beside those that the server names.
    pub scopes: Vec<String>,
    /// The port of this machine that the browser comes back to; any free one when absent.
    pub port: Option<u16>,
    /// The place to sign in may be in a private network.
    pub may_be_private: bool,
}

/// A client that somebody registered at the issuer by hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnClient {
    pub id: String,
    pub secret: Option<Secret>,
}

/// A sign-in that waits for the browser.
pub struct SignInBegun {
    /// What the browser opens.
    pub address: String,
    /// Whose page that is: host and port.
    pub host: String,
    /// Whom the server names as the issuer of its tokens.
    pub issuer: String,
    /// The permissions that are asked for.
    pub scopes: Vec<String>,
    /// How long the wait lasts.
    pub wait: Duration,
    /// What became of it; `None` when it was given up.
    pub outcome: BoxFuture<'static, Result<Option<GrantedSignIn>, SignInFault>>,
}

/// A sign-in that succeeded; the tokens are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantedSignIn {
    pub issuer: String,
    /// The permissions that were given.
    pub scopes: Vec<String>,
}

/// Why there is no sign-in: a sentence, and what a person can do. Contains no secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct SignInFault {
    pub why: String,
    /// What a person can do.
    pub hint: String,
}

/// Whether the issuer forgot a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Revocation {
    /// There was none.
    Nothing,
    /// It confirmed that the token is good no more.
    Done,
    /// It was not asked, because it offers no way, or did not confirm it. The token is good there until it expires.
    NotConfirmed,
}

/// How it is with the token of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TokenFacts {
    /// There is one, and the server has not refused it.
    pub is_signed_in: bool,
    /// The server asked for a sign-in that is not there: why, and what a person can do.
    pub needed: Option<SignInFault>,
    /// A sign-in waits for the browser.
    pub is_waiting: bool,
    /// Addresses that came to it and belong to another sign-in, or to none; any page can send some.
    pub stray_answers: u32,
    /// Whom the token is from.
    pub issuer: Option<String>,
    /// The permissions that came with it.
    pub scopes: Vec<String>,
    /// Until when it is good, unless it is renewed; `None` when it is not said.
    pub until: Option<Timestamp>,
    /// Whether it is renewed without a person.
    pub is_renewed: bool,
    /// Permissions that the server asked for and the token does not have.
    pub missing_scopes: Vec<String>,
}
