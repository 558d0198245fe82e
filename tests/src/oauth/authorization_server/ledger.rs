//! The memory of the authorization server: clients, codes, token families, and what was held against clients.
//!
//! A *family* is one grant with all tokens that came of it: revoking it ends them all. Nothing here knows HTTP.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::AuthorizationOptions;
use super::client_auth::{Client, ClientAuthentication, Redirects};
use crate::oauth::wire::random;

/// How often each endpoint was used.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct OAuthCounts {
    /// Requests for metadata, at any of its places.
    pub metadata_requests: u32,
    /// Clients that registered themselves.
    pub registrations: u32,
    /// Registrations that were refused.
    pub refused_registrations: u32,
    /// Authorization requests that were in order.
    pub authorizations: u32,
    /// Token requests with a code.
    pub code_requests: u32,
    /// Token requests with a refresh token.
    pub refresh_requests: u32,
    /// Token requests of any other grant.
    pub other_requests: u32,
    /// Codes that became tokens.
    pub exchanges: u32,
    /// Refresh tokens that became new tokens.
    pub refreshes: u32,
    /// Requests for revocation.
    pub revocations: u32,
}

/// Tokens that were issued together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuedTokens {
    /// The access token itself.
    pub access: String,
    /// The refresh token itself.
    pub refresh: String,
}

/// An authorization request that was in order.
#[derive(Debug, Clone)]
pub(super) struct AuthorizationTicket {
    pub(super) client: String,
    pub(super) redirect: String,
    pub(super) state: String,
    pub(super) challenge: String,
    pub(super) resource: String,
    pub(super) scopes: Vec<String>,
}

/// A code that was sent to a callback.
pub(super) struct Code {
    pub(super) ticket: AuthorizationTicket,
    /// The grant that came of it.
    pub(super) family: Option<usize>,
    /// The callback was one that a client must refuse.
    pub(super) is_spoiled: bool,
}

pub(super) struct Family {
    pub(super) client: String,
    pub(super) resource: String,
    pub(super) scopes: Vec<String>,
    pub(super) is_revoked: bool,
}

pub(super) struct Refresh {
    pub(super) family: usize,
    pub(super) is_used: bool,
}

struct Access {
    family: usize,
    scopes: Vec<String>,
    /// `None` is never.
    until: Option<Instant>,
    is_revoked: bool,
}

/// What a token is worth at a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::oauth) enum TokenState {
    /// Good for these scopes.
    Good(Vec<String>),
    /// Expired or revoked.
    Over,
    /// Issued for another resource.
    Foreign,
    /// Never issued here.
    Unknown,
}

#[derive(Default)]
pub(super) struct Ledger {
    pub(super) clients: BTreeMap<String, Client>,
    /// Clients that the server forgot, which they cannot know.
    pub(super) forgotten_clients: BTreeSet<String>,
    /// Resources with their scopes.
    pub(super) resources: BTreeMap<String, Vec<String>>,
    /// Requests that wait for a person, by the name in the page.
    pub(super) waiting: BTreeMap<String, AuthorizationTicket>,
    pub(super) codes: BTreeMap<String, Code>,
    pub(super) families: Vec<Family>,
    pub(super) refreshes: BTreeMap<String, Refresh>,
    /// Refresh tokens that were handed out and not kept.
    pub(super) forgotten: BTreeSet<String>,
    accesses: BTreeMap<String, Access>,
    /// Values that may be used once: `state` and `code_challenge`.
    pub(super) once: BTreeSet<(&'static str, String)>,
    pub(super) counts: OAuthCounts,
    pub(super) client_faults: Vec<String>,
    pub(super) registration_requests: Vec<Value>,
    pub(super) authorization_requests: Vec<BTreeMap<String, String>>,
    pub(super) token_requests: Vec<BTreeMap<String, String>>,
    pub(super) discovery_paths: Vec<String>,
    pub(super) strayed: Vec<String>,
}

impl Ledger {
    pub(super) fn new(options: &AuthorizationOptions) -> Self {
        let known = options.clients.iter().map(|known| (known.id.clone(), Client::known(known)));
        let documents = options.document_clients.iter().map(|address| (address.clone(), Client::of_document(address)));
        Self { clients: known.chain(documents).collect(), ..Self::default() }
    }

    pub(super) fn note(&mut self, words: String) {
        self.client_faults.push(words);
    }

    pub(super) fn new_family(&mut self, client: &str, resource: &str, scopes: &[String]) -> usize {
        self.families.push(Family {
            client: client.to_owned(),
            resource: resource.to_owned(),
            scopes: scopes.to_vec(),
            is_revoked: false,
        });
        self.families.len() - 1
    }

    /// Issues an access and a refresh token in a family.
    pub(super) fn issue(&mut self, family: usize, scopes: &[String], lifetime: Duration) -> IssuedTokens {
        let tokens = IssuedTokens { access: random("access"), refresh: random("refresh") };
        self.keep_access(&tokens.access, family, scopes, lifetime);
        self.refreshes.insert(tokens.refresh.clone(), Refresh { family, is_used: false });
        tokens
    }

    /// The same token under another name, and under that alone.
    pub(super) fn rename_access(&mut self, token: &str, name: &str) {
        if let Some(access) = self.accesses.remove(token) {
            self.accesses.insert(name.to_owned(), access);
        }
    }

    fn keep_access(&mut self, token: &str, family: usize, scopes: &[String], lifetime: Duration) {
        let until = Instant::now().checked_add(lifetime);
        let access = Access { family, scopes: scopes.to_vec(), until, is_revoked: false };
        self.accesses.insert(token.to_owned(), access);
    }

    fn is_good(&self, access: &Access) -> bool {
        let is_in_time = access.until.is_none_or(|until| Instant::now() < until);
        let is_granted = self.families.get(access.family).is_some_and(|family| !family.is_revoked);
        is_in_time && is_granted && !access.is_revoked
    }

    pub(super) fn token_state(&self, token: &str, resource: &str) -> TokenState {
        let Some(access) = self.accesses.get(token) else { return TokenState::Unknown };
        if self.families.get(access.family).is_none_or(|family| family.resource != resource) {
            return TokenState::Foreign;
        }
        if self.is_good(access) { TokenState::Good(access.scopes.clone()) } else { TokenState::Over }
    }

    pub(super) fn good_tokens(&self) -> usize {
        self.accesses.values().filter(|access| self.is_good(access)).count()
    }

    pub(super) fn expire_access(&mut self) {
        let now = Instant::now();
        for access in self.accesses.values_mut() {
            access.until = Some(now);
        }
    }

    pub(super) fn revoke_family(&mut self, family: usize) {
        if let Some(family) = self.families.get_mut(family) {
            family.is_revoked = true;
        }
    }

    pub(super) fn revoke_families(&mut self) {
        for family in &mut self.families {
            family.is_revoked = true;
        }
    }

    /// Revokes what a token stands for, if it belongs to this client; `false` when it belongs to another one.
    pub(super) fn revoke_token(&mut self, token: &str, client: &str) -> bool {
        let family = match (self.refreshes.get(token), self.accesses.get(token)) {
            (Some(refresh), _) => refresh.family,
            (None, Some(access)) => access.family,
            (None, None) => return true,
        };
        if self.families.get(family).is_none_or(|family| family.client != client) {
            return false;
        }
        match self.accesses.get_mut(token) {
            Some(access) => access.is_revoked = true,
            None => self.revoke_family(family),
        }
        true
    }

    pub(super) fn forget_clients(&mut self) {
        let known = std::mem::take(&mut self.clients);
        let (gone, kept) =
            known.into_iter().partition(|(_, client)| matches!(client.redirects, Redirects::Registered(_)));
        self.clients = kept;
        self.forgotten_clients.extend(BTreeMap::<String, Client>::into_keys(gone));
    }

    pub(super) fn forget_client(&mut self, client: &str) {
        if self.clients.remove(client).is_some() {
            self.forgotten_clients.insert(client.to_owned());
        }
    }

    pub(super) fn secrets(&self) -> Vec<String> {
        let of_clients = self.clients.values().filter_map(|client| match &client.authentication {
            ClientAuthentication::None => None,
            ClientAuthentication::Basic(secret) | ClientAuthentication::Post(secret) => Some(secret),
        });
        let verifiers = self.token_requests.iter().filter_map(|request| request.get("code_verifier"));
        let tokens = self.accesses.keys().chain(self.refreshes.keys()).chain(&self.forgotten);
        self.codes.keys().chain(tokens).chain(of_clients).chain(verifiers).cloned().collect()
    }
}
