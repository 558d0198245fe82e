//! A JSON argument: in the argument itself, in a file (`@file`), or on standard input (`-`).
//!
//! Read whole but bounded, and checked to be JSON before anything is sent; the error names the position.

use std::io::Read as _;

use api::{ApiError, Code};
use serde_json::value::RawValue;

/// Reads JSON from an argument. `what` names it in errors; `most` is the largest size.
pub(crate) fn json(argument: &str, what: &str, most: usize) -> Result<Box<RawValue>, ApiError> {
    let text = match argument.strip_prefix('@') {
        Some(path) => {
            let file = std::fs::File::open(path).map_err(|error| {
                ApiError::new(
                    Code::Usage,
                    format!("the file `{path}` with {what} cannot be read: {error}"),
                    "Give an existing file after `@`, or the JSON itself.",
                )
            })?;
            bounded(file, what, most)?
        }
        None if argument == "-" => bounded(std::io::stdin().lock(), what, most)?,
        None => argument.to_owned(),
    };
    serde_json::from_str(&text).map_err(|error| {
        ApiError::new(
            Code::Usage,
            format!("{what} are not JSON: {error}"),
            "Give JSON such as `'{\"name\": \"value\"}'`, `@file.json`, or `-` for standard input.",
        )
    })
}

fn bounded(source: impl std::io::Read, what: &str, most: usize) -> Result<String, ApiError> {
    let most = u64::try_from(most).unwrap_or(u64::MAX);
    let mut text = String::new();
    let read = source.take(most.saturating_add(1)).read_to_string(&mut text);
    read.map_err(|error| ApiError::new(Code::Usage, format!("{what} cannot be read: {error}"), "Give UTF-8 text."))?;
    if u64::try_from(text.len()).unwrap_or(u64::MAX) > most {
        return Err(ApiError::new(
            Code::Usage,
            format!("{what} are longer than {most} bytes"),
            "Pass a path or an address instead of the content.",
        ));
    }
    Ok(text)
}
