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
    if !is_name(name) {
        // With a variable it is a name that was meant; otherwise a part of it may be the secret.
        let is_meant =
            !name.contains(':') && variable.is_some_and(|text| is_variable(text) && std::env::var(text).is_ok());
        return Err(bad_name(name, is_meant, is_name));
    }
    if variable.is_some_and(|text| !is_variable(text)) {
        return Err(no_variable(name));
    }
    Ok((name, variable))
}

fn bad_name(name: &str, is_meant: bool, is_name: impl Fn(&str) -> bool) -> ApiError {
    let end = name.find(|c: char| !is_name(c.encode_utf8(&mut [0; 4]))).unwrap_or(name.len());
    let message = match name.get(..end).unwrap_or_default() {
        _ if is_meant => format!("`{}` is not the name of a secret: it has other characters", one_line(name)),
        "" => "the name of a secret is missing".to_owned(),
        begin => format!("the name that begins with `{begin}` is not the name of a secret: it has other characters"),
    };
    let hint = "Names have letters, digits, `-`, `_` and `.`. Pass only the name, such as `--header Authorization` or \
                `--secret-env TOKEN`, and type the value when asked.";
    ApiError::new(Code::Usage, message, hint)
}

/// What stands behind `=` is not repeated, because it may be the secret itself.
fn no_variable(name: &str) -> ApiError {
    ApiError::new(
        Code::Usage,
        format!("secret `{name}`: what is behind `=` is not the name of an environment variable that has a value"),
        format!("Set the variable first, or pass only `{name}` and type the value when asked."),
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
            (None, Some(_)) => return Err(no_variable(name)),
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
        if secrets.insert(name.to_owned(), value).is_some() {
            return Err(ApiError::new(
                Code::Usage,
                format!("secret `{}` is given twice", one_line(name)),
                "Give each secret once.",
            ));
        }
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
            assert!(error.message.contains("name") && !error.hint.is_empty(), "{error}");
        }
        // A variable that every environment has.
        let named = secret_name("Bad Header=PATH").expect_err("a space");
        assert!(named.message.contains("`Bad Header`"), "{named}");
        let cut = secret_name("Authorization: hush=PATH").expect_err("a value");
        assert!(cut.message.contains("begins with `Authorization`") && !cut.message.contains("hush"), "{cut}");
        assert_eq!(secret_name("Authorization=CI_TOKEN").ok(), Some(("Authorization", Some("CI_TOKEN"))));
        assert_eq!(secret_name("X-Key").ok(), Some(("X-Key", None)), "a name alone is asked for");
    }
}
