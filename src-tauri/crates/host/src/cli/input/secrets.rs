//! Values of secrets that a command needs: from an environment variable or a hidden prompt.
//!
//! Never from arguments, which other users of the machine can read. Where a value is kept is the core's decision.

use std::collections::BTreeMap;

use api::{ApiError, Code};

use super::prompt;
use crate::cli::output::screen::Screen;
use crate::cli::output::sentences::one_line;

/// The name of a secret and the variable its value is taken from, when one is named.
fn secret_name(word: &str) -> Result<(&str, Option<&str>), ApiError> {
    let (name, variable) = word.split_once('=').map_or((word, None), |(name, variable)| (name, Some(variable)));
    let is_name = |text: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
    };
    let is_variable = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if is_name(name) && variable.is_none_or(is_variable) { Ok((name, variable)) } else { Err(secret_in_arguments()) }
}

fn secret_in_arguments() -> ApiError {
    ApiError::new(
        Code::Usage,
        "pass the name of a secret, or of an environment variable that holds it; there is no such variable",
        "Pass only the name, such as `--header Authorization` or `--secret-env TOKEN`, and type the value when asked.",
    )
}

/// Takes the values of secrets from the environment, or asks. Returns their names.
pub(crate) async fn take_secrets(
    given: &[String],
    secrets: &mut BTreeMap<String, String>,
    screen: &Screen,
) -> Result<Vec<String>, ApiError> {
    let mut names = Vec::with_capacity(given.len());
    for word in given {
        let (name, variable) = secret_name(word)?;
        let found = std::env::var(variable.unwrap_or(name)).ok().filter(|value| !value.is_empty());
        let value = match (found, variable) {
            (Some(value), _) => value,
            // Not repeated in the error, because it may be the secret itself.
            (None, Some(_)) => return Err(secret_in_arguments()),
            (None, None) if screen.can_ask() => {
                prompt::hidden(&format!("Value of {name} (not shown): ")).await?.unwrap_or_default()
            }
            (None, None) => String::new(),
        };
        if value.is_empty() {
            return Err(ApiError::new(
                Code::Usage,
                format!("secret `{}` has no value", one_line(name)),
                format!("Set the environment variable `{}` first, or type the value when asked.", one_line(name)),
            ));
        }
        secrets.insert(name.to_owned(), value);
        names.push(name.to_owned());
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_in_an_argument_is_refused_and_never_repeated() {
        for word in ["Authorization: Bearer hush", "K=hush-hush", "=hush", "K="] {
            let error = secret_name(word).expect_err("a value is no name");
            assert!(!format!("{error:?}").contains("hush"), "the value is not repeated");
        }
        assert_eq!(secret_name("Authorization=CI_TOKEN").ok(), Some(("Authorization", Some("CI_TOKEN"))));
        assert_eq!(secret_name("X-Key").ok(), Some(("X-Key", None)), "a name alone is asked for");
    }
}
