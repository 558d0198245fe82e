//! Lays out OpenAI's two vocabularies as tables that are read where they lie in the program.
//!
//! `bpe-openai` has the vocabularies and three automata over each, 47 MB in a program and 40 MB more on the heap once
//! used. Counting needs to know of some bytes whether they are a token and which (decision 0089): the tokens one after
//! the other, where each starts, and a hash table. `src/bpe/table.rs` reads them.

#[path = "src/bpe/slots.rs"]
mod slots;

use std::error::Error;
use std::path::Path;

use bpe_openai::Tokenizer;

/// Writes the three tables of a vocabulary.
fn lay_out(name: &str, tokenizer: &Tokenizer, folder: &Path) -> Result<(), Box<dyn Error>> {
    let dictionary = &tokenizer.bpe;
    let count = u32::try_from(dictionary.num_tokens())?;
    let (mut bytes, mut starts) = (Vec::new(), vec![0_u32]);
    // A power of two, at most half of them taken.
    let mut table = vec![slots::EMPTY; dictionary.num_tokens().saturating_mul(2).next_power_of_two()];
    let places = table.len();
    for token in 0..count {
        let of = dictionary.token_bytes(token);
        bytes.extend_from_slice(of);
        starts.push(u32::try_from(bytes.len())?);
        let hash = slots::hash(of);
        let free = slots::places(hash, places).find(|&at| table.get(at) == Some(&slots::EMPTY));
        *free.and_then(|at| table.get_mut(at)).ok_or("no slot is free")? = slots::mark(hash) | (token + 1);
    }
    let words = |numbers: &[u32]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
    std::fs::write(folder.join(format!("{name}.bytes")), &bytes)?;
    std::fs::write(folder.join(format!("{name}.starts")), words(&starts))?;
    std::fs::write(folder.join(format!("{name}.slots")), words(&table))?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/bpe/slots.rs");
    let folder = std::env::var_os("OUT_DIR").ok_or("cargo names no folder for what is built")?;
    lay_out("o200k", bpe_openai::o200k_base(), Path::new(&folder))?;
    lay_out("cl100k", bpe_openai::cl100k_base(), Path::new(&folder))
}
