//! Finds the variables in the texts of an entry, in the forms that its program knows.
//!
//! A variable stays a name here; its value is asked for when the server is imported. What is not a variable to the
//! program is plain text.

use api::calls::clients::launch::LaunchVariable;

/// Which variables a program replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VariableForm {
    /// None of them: `${X}` is these four letters.
    Literal,
    /// `${NAME}`, `${NAME:-default}`, `${env:NAME}`, `${input:NAME}`, `${workspaceFolder}`.
    Braces,
    /// `$NAME` and `${NAME}`.
    Dollar,
    /// `{env:NAME}`, and `{file:PATH}`, which is not followed.
    Opencode,
}

/// How a variable of opencode begins.
const OPENCODE: &str = "{env:";

/// The variables of a text, in its order.
pub(super) fn find(form: VariableForm, text: &str) -> Vec<LaunchVariable> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((variable, after)) = next(form, rest) {
        found.push(variable);
        rest = after;
    }
    found
}

fn next(form: VariableForm, text: &str) -> Option<(LaunchVariable, &str)> {
    match form {
        VariableForm::Literal => None,
        VariableForm::Braces => braces(text, "${"),
        VariableForm::Opencode => braces(text, OPENCODE),
        VariableForm::Dollar => dollar(text),
    }
}

/// The next variable that ends with a brace.
fn braces<'a>(text: &'a str, opening: &str) -> Option<(LaunchVariable, &'a str)> {
    let mut from = text;
    loop {
        let (_, after) = from.split_once(opening)?;
        let (inner, rest) = after.split_once('}')?;
        match named(opening, inner) {
            Some(variable) => return Some((variable, rest)),
            None => from = after,
        }
    }
}

fn named(opening: &str, inner: &str) -> Option<LaunchVariable> {
    let token = format!("{opening}{inner}}}");
    if opening == OPENCODE {
        let is_name = !inner.is_empty() && inner.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
        let name = inner.to_owned();
        return is_name.then_some(LaunchVariable {
            token,
            name,
            is_environment: true,
            is_secret: false,
            default: None,
        });
    }
    let (name, default) = match inner.split_once(":-") {
        Some((name, default)) => (name, Some(default.to_owned())),
        None => (inner, None),
    };
    let (name, is_environment) = match name.split_once(':') {
        Some(("env", name)) => (name, true),
        Some(("input", name)) => (name, false),
        Some(_) => return None,
        None => {
            (name, name.chars().all(|letter| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_'))
        }
    };
    let is_name =
        !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-./".contains(letter));
    let default = default.or_else(|| usual_value(name));
    is_name.then(|| LaunchVariable { token, name: name.to_owned(), is_environment, is_secret: false, default })
}

/// What a few variables of editors are everywhere.
fn usual_value(name: &str) -> Option<String> {
    match name {
        "userHome" => std::env::home_dir().map(|home| home.display().to_string()),
        "pathSeparator" | "/" => Some(std::path::MAIN_SEPARATOR.to_string()),
        _ => None,
    }
}

/// The next variable of a shell's form.
fn dollar(text: &str) -> Option<(LaunchVariable, &str)> {
    let mut from = text;
    loop {
        let (_, after) = from.split_once('$')?;
        if let Some(inner) = after.strip_prefix('{') {
            if let Some((name, rest)) = inner.split_once('}')
                && let Some(variable) = named("${", name)
            {
                return Some((variable, rest));
            }
        } else {
            let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(after.len());
            let (name, rest) = after.split_at_checked(end)?;
            if name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
                let variable = LaunchVariable {
                    token: format!("${name}"),
                    name: name.to_owned(),
                    is_environment: true,
                    is_secret: false,
                    default: None,
                };
                return Some((variable, rest));
            }
        }
        from = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_found_in_the_forms_that_their_program_knows() {
        let text = "a ${TOKEN} ${env:B:-x} ${input:my-key} ${workspaceFolder} $HOME {env:C} ${bad name} ${";
        for (form, expected) in [
            (VariableForm::Literal, vec![]),
            (VariableForm::Braces, vec!["TOKEN", "B", "my-key", "workspaceFolder"]),
            (VariableForm::Dollar, vec!["TOKEN", "B", "my-key", "workspaceFolder", "HOME"]),
            (VariableForm::Opencode, vec!["C"]),
        ] {
            let found = find(form, text);
            assert_eq!(found.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), expected, "{form:?}");
        }
        let found = find(VariableForm::Braces, text);
        assert_eq!(found[1].default.as_deref(), Some("x"));
        assert_eq!(found.iter().map(|one| one.is_environment).collect::<Vec<_>>(), [true, true, false, false]);
    }
}
