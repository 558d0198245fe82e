//! Signed notes and checkpoints of C2SP (`c2sp.org/signed-note`, `c2sp.org/tlog-checkpoint`), signed with Ed25519.
//!
//! A note is text that ends with a line break, an empty line, and one line for each signature. Signatures of unknown keys
//! are ignored, as the specification wants; whose key to trust is decided by whoever verifies.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
pub use ed25519_dalek::SigningKey;
use ed25519_dalek::{Signature, Signer, Verifier, VerifyingKey};
use sha2::{Digest, Sha256};

use crate::chain::Hash;
use crate::hex;

/// The type byte of an Ed25519 key.
const ED25519: u8 = 1;
/// What begins the line of a signature: an em dash and a space.
const SIGNATURE: &str = "\u{2014} ";

/// Why a note, key or checkpoint does not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoteFault(&'static str);

impl fmt::Display for NoteFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

fn key_id(name: &str, public: &VerifyingKey) -> [u8; 4] {
    let digest =
        Sha256::new().chain_update(name).chain_update([b'\n', ED25519]).chain_update(public.as_bytes()).finalize();
    let [a, b, c, d, ..] = <[u8; 32]>::from(digest);
    [a, b, c, d]
}

/// Whether this can be the name of a key.
fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.contains('+') && !name.contains(char::is_whitespace)
}

/// A public key with its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteKey {
    name: String,
    id: [u8; 4],
    public: VerifyingKey,
}

impl NoteKey {
    /// The public half of a signing key.
    #[must_use]
    pub fn of(name: &str, key: &SigningKey) -> Self {
        let public = key.verifying_key();
        Self { name: name.into(), id: key_id(name, &public), public }
    }

    /// Reads `NAME+ID+BASE64`, the text form of C2SP.
    ///
    /// # Errors
    /// When it is none, or its id is not that of its key.
    pub fn parse(text: &str) -> Result<Self, NoteFault> {
        let fault = NoteFault("the key does not read as NAME+ID+BASE64");
        let mut parts = text.trim().splitn(3, '+');
        let (Some(name), Some(id), Some(key)) = (parts.next(), parts.next(), parts.next()) else { return Err(fault) };
        let bytes = STANDARD.decode(key).map_err(|_| fault)?;
        let Some((&ED25519, public)) = bytes.split_first() else {
            return Err(NoteFault("the key is not an Ed25519 key"));
        };
        let public: [u8; 32] = public.try_into().map_err(|_| fault)?;
        let public = VerifyingKey::from_bytes(&public).map_err(|_| NoteFault("the key is no point of Ed25519"))?;
        let known = key_id(name, &public);
        if !is_name(name) || hex::decode(id).as_deref() != Some(known.as_slice()) {
            return Err(NoteFault("the id of the key is not that of its name and bytes"));
        }
        Ok(Self { name: name.into(), id: known, public })
    }

    /// The name of the key, which is the origin of its log in some epoch.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The id of the key as text.
    #[must_use]
    pub fn id(&self) -> String {
        hex::encode(&self.id)
    }

    /// Whether a signature says that it is of this key. In each epoch of a log its key has the name of the log in that
    /// epoch, and with it an id of its own.
    fn is_of(&self, signature: &NoteSignature) -> bool {
        if self.name == signature.name {
            return self.id == signature.key;
        }
        epoch_of(&self.name).0 == epoch_of(&signature.name).0 && key_id(&signature.name, &self.public) == signature.key
    }
}

impl fmt::Display for NoteKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes: Vec<u8> = std::iter::once(ED25519).chain(*self.public.as_bytes()).collect();
        write!(f, "{}+{}+{}", self.name, self.id(), STANDARD.encode(bytes))
    }
}

/// One signature of a note.
#[derive(Debug, Clone, PartialEq, Eq)]
struct NoteSignature {
    name: String,
    key: [u8; 4],
    bytes: Vec<u8>,
}

/// A text with its signatures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedNote {
    text: String,
    signatures: Vec<NoteSignature>,
}

impl SignedNote {
    /// Signs a text, which ends with a line break.
    #[must_use]
    pub fn sign(text: &str, name: &str, key: &SigningKey) -> Self {
        let public = NoteKey::of(name, key);
        let bytes = key.sign(text.as_bytes()).to_bytes().to_vec();
        Self { text: text.into(), signatures: vec![NoteSignature { name: name.into(), key: public.id, bytes }] }
    }

    /// Reads one note.
    ///
    /// # Errors
    /// When it has no text, no signature, or a line that is neither.
    pub fn parse(note: &str) -> Result<Self, NoteFault> {
        let fault = NoteFault("it is no signed note: text, an empty line, and lines of signatures");
        let (text, signatures) = note.rsplit_once("\n\n").ok_or(fault)?;
        let text = format!("{text}\n");
        let one = |line: &str| {
            let (name, signature) = line.strip_prefix(SIGNATURE)?.split_once(' ')?;
            let bytes = STANDARD.decode(signature).ok()?;
            let (key, bytes) = bytes.split_first_chunk::<4>()?;
            is_name(name).then(|| NoteSignature { name: name.into(), key: *key, bytes: bytes.to_vec() })
        };
        let signatures = signatures.lines().map(one).collect::<Option<Vec<_>>>().ok_or(fault)?;
        if signatures.is_empty() || !note.ends_with('\n') {
            return Err(fault);
        }
        Ok(Self { text, signatures })
    }

    /// The signed text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Ids of the keys that signed, valid or not, as text.
    #[must_use]
    pub fn key_ids(&self) -> Vec<String> {
        self.signatures.iter().map(|signature| hex::encode(&signature.key)).collect()
    }

    /// The first of these keys with a valid signature, in whatever epoch of their log.
    ///
    /// # Errors
    /// When a signature of one of these keys is invalid, or none of them signed.
    pub fn signer<'a>(&self, keys: &'a [NoteKey]) -> Result<&'a NoteKey, NoteFault> {
        let mut found = None;
        for signature in &self.signatures {
            let known = keys.iter().find(|key| key.is_of(signature));
            let Some(key) = known else { continue };
            let is_valid = Signature::from_slice(&signature.bytes)
                .is_ok_and(|bytes| key.public.verify(self.text.as_bytes(), &bytes).is_ok());
            if !is_valid {
                return Err(NoteFault("its signature is invalid"));
            }
            found = found.or(Some(key));
        }
        found.ok_or(NoteFault("no known key signed it"))
    }
}

impl fmt::Display for SignedNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.text)?;
        self.signatures.iter().try_for_each(|NoteSignature { name, key, bytes }| {
            let signed: Vec<u8> = key.iter().chain(bytes).copied().collect();
            writeln!(f, "{SIGNATURE}{name} {}", STANDARD.encode(signed))
        })
    }
}

/// What a checkpoint says: the root over the first `size` rows of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeHead {
    /// The name of the log in its epoch; see [`epoch_of`].
    pub origin: String,
    pub size: u64,
    pub root: Hash,
}

impl TreeHead {
    /// Reads the text of a checkpoint; lines after the third are extensions and stay unread.
    ///
    /// # Errors
    /// When a line is missing or does not read.
    pub fn parse(text: &str) -> Result<Self, NoteFault> {
        let fault = NoteFault("it is no checkpoint: origin, size and root");
        let mut lines = text.lines();
        let (Some(origin), Some(size), Some(root)) = (lines.next(), lines.next(), lines.next()) else {
            return Err(fault);
        };
        let counted: u64 = size.parse().map_err(|_| fault)?;
        if origin.is_empty() || counted.to_string() != size {
            return Err(fault);
        }
        let root = STANDARD.decode(root).ok().and_then(|root| root.try_into().ok()).ok_or(fault)?;
        Ok(Self { origin: origin.into(), size: counted, root })
    }
}

/// The name of a log without its epoch, and the epoch: `taskwarden/LOG_ID` is epoch 1, `taskwarden/LOG_ID/2` epoch 2.
#[must_use]
pub fn epoch_of(origin: &str) -> (&str, u32) {
    let later = origin.rsplit_once('/').filter(|(log, _)| log.contains('/'));
    let later = later.and_then(|(log, number)| Some((log, number.parse().ok()?)));
    later.filter(|(_, number)| *number > 1).unwrap_or((origin, 1))
}

impl fmt::Display for TreeHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n{}\n{}", self.origin, self.size, STANDARD.encode(self.root))
    }
}
