//! Builders for what most tests need and few care about.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use domain::ids::{PersonId, ServerId};
use domain::server::{Consent, Server, ServerAddress};
use domain::time::Timestamp;

/// A person of the tests.
#[must_use]
pub fn person(name: &str) -> PersonId {
    PersonId::new(name)
}

/// Bits that count up, so that identities repeat from run to run.
pub fn sequential_bits() -> Arc<dyn Fn() -> u128 + Send + Sync> {
    let next = AtomicU64::new(1);
    Arc::new(move || {
        let count = next.fetch_add(1, Ordering::Relaxed);
        (u128::from(count) << 64) | u128::from(count.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    })
}

/// An HTTP server that somebody agreed to contact.
#[must_use]
pub fn http_server(number: u128, name: &str) -> Server {
    agreed(number, name, ServerAddress::Http { url: format!("http://127.0.0.1/{name}"), secret_headers: Vec::new() })
}

/// A child process that somebody agreed to run.
#[must_use]
pub fn stdio_server(number: u128, name: &str) -> Server {
    let address = ServerAddress::Stdio {
        command: name.to_owned(),
        args: Vec::new(),
        env: BTreeMap::new(),
        secret_env: Vec::new(),
        cwd: None,
    };
    agreed(number, name, address)
}

fn agreed(number: u128, name: &str, address: ServerAddress) -> Server {
    let created = Timestamp::from_millis(1_600_000_000_000);
    let consent = Consent { by: person("tester"), at: created, fingerprint: address.fingerprint() };
    Server {
        id: ServerId::from_random(number),
        name: name.to_owned(),
        address,
        consent: Some(consent),
        generation: 0,
        verdict: None,
        negotiated: None,
        created,
    }
}
