//! Names at the endpoint of all servers: `SERVER__NAME`, wrapped URIs and cursors, and the way back.
//!
//! Pure. The part before `__` is made of the person's name for the server, never of what a server says of itself
//! (protocol.md §2.12). Names beyond [`NAME_CHARS`] are shortened and end in a hash of the whole. At the endpoint of one
//! server everything keeps its own name.

use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use domain::ids::ServerId;
use parking_lot::Mutex;
use sha2::{Digest, Sha256};

/// Between the server's part of a name and the rest.
const SEPARATOR: &str = "__";
/// Longest name that is given. protocol.md §2.12 allows 128; several clients in use refuse more than 64.
pub(crate) const NAME_CHARS: usize = 64;
/// Hex digits of the hash that ends a shortened name: two tools of one server collide once in four thousand million.
const HASH_DIGITS: usize = 8;
/// Hex digits that tell servers with the same slug apart.
const SERVER_DIGITS: usize = 4;
/// Begins a wrapped URI.
const WRAP: &str = "tw:";

/// A tool under the name that its server knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TargetTool {
    pub(crate) server: ServerId,
    pub(crate) tool: Arc<str>,
}

/// A server and its part of names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamedServer {
    pub(crate) id: ServerId,
    /// The person's name for it.
    pub(crate) name: Arc<str>,
    /// Its part of names: `[A-Za-z0-9_-]`, without `__` and without `_` at its ends.
    pub(crate) slug: String,
}

/// Servers with their parts of names, ordered by name.
pub(crate) fn name_servers(mut servers: Vec<(ServerId, Arc<str>)>) -> Vec<NamedServer> {
    servers.sort_by(|(_, one), (_, other)| one.cmp(other));
    let slugs: Vec<String> = servers.iter().map(|(_, name)| slug(name)).collect();
    let mut named = Vec::with_capacity(servers.len());
    for ((id, name), slug) in servers.into_iter().zip(&slugs) {
        let is_shared = slugs.iter().filter(|other| *other == slug).count() > 1;
        // The one whose name is the slug keeps it, whichever servers come and go.
        let slug = if is_shared && **slug != *name { distinct(slug, id) } else { slug.clone() };
        named.push(NamedServer { id, name, slug });
    }
    named
}

/// The servers with their parts of names, worked out again only when a server came, went or got another name.
#[derive(Default)]
pub(crate) struct ServerNames(Mutex<NamedRoster>);

#[derive(Default)]
struct NamedRoster {
    servers: Vec<(ServerId, Arc<str>)>,
    named: Arc<Vec<NamedServer>>,
}

impl ServerNames {
    /// The parts of names that these servers have.
    pub(crate) fn of(&self, servers: Vec<(ServerId, Arc<str>)>) -> Arc<Vec<NamedServer>> {
        let mut known = self.0.lock();
        if known.servers != servers {
            known.named = Arc::new(name_servers(servers.clone()));
            known.servers = servers;
        }
        Arc::clone(&known.named)
    }
}

fn slug(name: &str) -> String {
    let mut slug = String::with_capacity(name.len());
    for letter in name.chars() {
        let fits = letter.is_ascii_alphanumeric() || letter == '-';
        let letter = if fits { letter } else { '_' };
        if letter != '_' || !(slug.is_empty() || slug.ends_with('_')) {
            slug.push(letter);
        }
    }
    slug.truncate(slug.trim_end_matches('_').len());
    if slug.is_empty() { "server".to_owned() } else { slug }
}

fn distinct(slug: &str, id: ServerId) -> String {
    let hash = hash(&id.to_string());
    format!("{slug}-{}", hash.get(..SERVER_DIGITS).unwrap_or_default())
}

fn hash(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().fold(String::with_capacity(2 * digest.len()), |hex, byte| hex + &format!("{byte:02x}"))
}

/// The name of a server's tool or prompt at the endpoint of all servers.
pub(crate) fn prefixed(slug: &str, name: &str) -> String {
    let whole = format!("{slug}{SEPARATOR}{name}");
    if whole.chars().count() <= NAME_CHARS {
        return whole;
    }
    let kept: String = whole.chars().take(NAME_CHARS - HASH_DIGITS - 1).collect();
    let hash = hash(&whole);
    format!("{kept}_{}", hash.get(..HASH_DIGITS).unwrap_or_default())
}

/// The server's part and the rest.
pub(crate) fn split(name: &str) -> Option<(&str, &str)> {
    name.split_once(SEPARATOR)
}

/// Whether the name may have been shortened.
pub(crate) fn may_be_shortened(name: &str) -> bool {
    name.chars().count() == NAME_CHARS
}

/// A server's URI at the endpoint of all servers, where another server has the same.
pub(crate) fn wrap_uri(slug: &str, uri: &str) -> String {
    let mut wrapped = format!("{WRAP}{slug}/");
    for byte in uri.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            wrapped.push(char::from(byte));
        } else {
            wrapped.push_str(&format!("%{byte:02X}"));
        }
    }
    wrapped
}

/// A server's template of URIs with its expressions as they were: what a client expands it to is unwrapped as a URI.
pub(crate) fn wrap_template(slug: &str, template: &str) -> String {
    // Two slashes: what follows is not encoded, because a client fills in what it has encoded itself.
    format!("{WRAP}{slug}//{template}")
}

/// The server's part and its URI; `None` when it is not wrapped.
pub(crate) fn unwrap_uri(uri: &str) -> Option<(&str, String)> {
    let (slug, rest) = uri.strip_prefix(WRAP)?.split_once('/')?;
    if let Some(plain) = rest.strip_prefix('/') {
        return Some((slug, plain.to_owned()));
    }
    let mut bytes = Vec::with_capacity(rest.len());
    let mut at = rest.bytes();
    while let Some(byte) = at.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = [at.next()?, at.next()?];
        bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
    }
    Some((slug, String::from_utf8(bytes).ok()?))
}

/// Where the next page of a merged list begins: at this entry of this server's.
pub(crate) fn cursor(server: ServerId, at: usize) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(format!("{server}:{at}"))
}

/// Reads [`cursor`] back.
pub(crate) fn read_cursor(text: &str) -> Option<(ServerId, usize)> {
    let text = String::from_utf8(BASE64_URL_SAFE_NO_PAD.decode(text).ok()?).ok()?;
    let (server, at) = text.split_once(':')?;
    Some((server.parse().ok()?, at.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn servers(names: &[&str]) -> Vec<NamedServer> {
        let id = |at: usize| ServerId::from_random(u128::try_from(at).unwrap_or_default() + 7);
        name_servers(names.iter().enumerate().map(|(at, name)| (id(at), Arc::from(*name))).collect())
    }

    #[test]
    fn servers_that_look_alike_are_told_apart_and_the_one_called_so_keeps_its_name() {
        let named = servers(&["a_b", "a.b", "a..b", "zoo", "...", "__x__"]);
        let slugs: std::collections::BTreeSet<_> = named.iter().map(|server| server.slug.clone()).collect();
        assert_eq!(slugs.len(), named.len(), "no two are alike: {slugs:?}");
        let slug = |name: &str| named.iter().find(|server| &*server.name == name).map(|server| server.slug.clone());
        assert_eq!(slug("a_b").as_deref(), Some("a_b"), "it is called exactly so");
        assert_eq!(slug("__x__").as_deref(), Some("x"), "nothing that could be taken for the middle");
        assert_eq!(slug("...").as_deref(), Some("server"), "a name without letters");
        let order: Vec<_> = named.iter().map(|server| &*server.name).collect();
        assert!(order.is_sorted(), "by name: {order:?}");
    }

    #[test]
    fn names_follow_the_servers_at_once() {
        let (names, id) = (ServerNames::default(), ServerId::from_random(7));
        assert_eq!(names.of(vec![(id, Arc::from("one"))])[0].slug, "one");
        assert_eq!(names.of(vec![(id, Arc::from("two"))])[0].slug, "two", "it got another name");
        assert!(names.of(Vec::new()).is_empty(), "it is gone");
    }

    #[test]
    fn a_name_that_is_too_long_is_cut_and_ends_in_a_hash_of_the_whole() {
        let one = prefixed("github", &format!("{}x", "very_long_".repeat(8)));
        let other = prefixed("github", &format!("{}y", "very_long_".repeat(8)));
        assert_eq!((one.len(), other.len()), (NAME_CHARS, NAME_CHARS), "as long as allowed");
        assert_ne!(one, other, "two that are alike at the beginning stay two");
        assert!(one.starts_with("github__very_long_"), "and one still sees what it is");
        assert_eq!(prefixed("a", "b"), "a__b", "short names are whole");
    }

    #[test]
    fn a_template_keeps_its_expressions_and_what_it_makes_is_unwrapped() {
        let wrapped = wrap_template("files", "file:///{path}?q={a,b}");
        assert_eq!(wrapped, "tw:files//file:///{path}?q={a,b}", "a client can fill it in");
        let filled = wrapped.replace("{path}", "a%20b").replace("{a,b}", "1");
        assert_eq!(unwrap_uri(&filled), Some(("files", "file:///a%20b?q=1".to_owned())), "its own encoding stays");
    }

    proptest! {
        #[test]
        fn a_name_finds_its_server_and_its_rest_again(
            names in prop::collection::btree_set("[a-z0-9._-]{1,40}", 1..6), tool in "[A-Za-z0-9_.-]{1,20}"
        ) {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let named = servers(&names);
            for server in &named {
                let whole = prefixed(&server.slug, &tool);
                prop_assert!(whole.chars().count() <= NAME_CHARS);
                if !may_be_shortened(&whole) {
                    let (slug, rest) = split(&whole).expect("it has two parts");
                    prop_assert_eq!((slug, rest), (server.slug.as_str(), tool.as_str()));
                    let found: Vec<_> = named.iter().filter(|other| other.slug == slug).collect();
                    prop_assert_eq!(found, vec![server], "exactly one server is meant");
                }
            }
        }

        #[test]
        fn any_uri_and_any_cursor_come_back_byte_for_byte(uri in "\\PC{0,40}", at: usize, server: u128) {
            let wrapped = wrap_uri("a-b_c", &uri);
            prop_assert_eq!(unwrap_uri(&wrapped), Some(("a-b_c", uri)));
            let server = ServerId::from_random(server);
            prop_assert_eq!(read_cursor(&cursor(server, at)), Some((server, at)));
        }
    }
}
