//! The hash table of a vocabulary: what the build script, which makes it, and the program, which searches it, agree on.
//!
//! A slot is a token's number plus one in its low bits and a mark of its hash above them, so that bytes that are no
//! token mostly cost one look. A token whose slot is taken stands in the next free one.

/// A slot without a token.
pub(crate) const EMPTY: u32 = 0;

/// Bits of a slot below its mark: 262,143 tokens, more than either vocabulary has.
const TOKEN_BITS: u32 = 18;

/// The bits of a hash that stand above the token in its slot. They have no part in choosing the place.
pub(crate) const fn mark(hash: u64) -> u32 {
    ((hash >> u32::BITS) as u32) << TOKEN_BITS
}

/// Where bytes with this hash may stand among so many slots, in the order of the search.
pub(crate) fn places(hash: u64, slots: usize) -> impl Iterator<Item = usize> {
    let first = usize::try_from(hash & u64::from(u32::MAX)).unwrap_or(0);
    (0..slots).map(move |step| first.wrapping_add(step) & slots.wrapping_sub(1))
}

/// Hashes bytes eight at a time. The vocabulary is fixed, so nobody can choose tokens that collide.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    /// An odd number whose bits look like chance.
    const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;
    let mix = |hash: u64, word: u64| {
        let mixed = (hash ^ word).wrapping_mul(SPREAD);
        mixed ^ (mixed >> 29)
    };
    let (words, rest) = bytes.as_chunks::<8>();
    let whole = words.iter().fold(SPREAD, |hash, word| mix(hash, u64::from_le_bytes(*word)));
    let last = rest.iter().fold(0, |last, byte| (last << 8) | u64::from(*byte));
    // With the length, `a` and `\0a` differ.
    mix(mix(whole, last), bytes.len() as u64)
}
