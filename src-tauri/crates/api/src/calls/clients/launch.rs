//! How an agent program starts or contacts a server, with the variables that its file leaves open.
//!
//! A variable such as `${TOKEN}` stays a name until a person gives its value; then the launch is an address and its
//! secrets. Which forms of variables a program knows is the host's (`host::clients::variables`).

use std::collections::BTreeMap;

use domain::server::ServerAddress;

use super::files::{HiddenValues, secret_names};

/// A value that the file of a program leaves open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchVariable {
    /// As it stands in the file, such as `${input:key}`.
    pub token: String,
    /// What a person is asked for, such as `key`.
    pub name: String,
    /// Whether the program would read it from its environment under this name.
    pub is_environment: bool,
    /// Whether all its uses are values that are never shown.
    pub is_secret: bool,
    /// What it is when nobody says otherwise.
    pub default: Option<String>,
}

/// How a program reaches a server. Every value of its environment and headers counts as a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientLaunch {
    /// The address as it stands in the file, variables and all.
    pub address: ServerAddress,
    /// Values of its secrets as they stand in the file, by name.
    pub secrets: HiddenValues,
    pub variables: Vec<LaunchVariable>,
}

impl ClientLaunch {
    /// The address and its secrets, once all variables have values.
    ///
    /// # Errors
    /// The first variable that has none.
    pub fn filled(&self, values: &BTreeMap<String, String>) -> Result<(ServerAddress, HiddenValues), &LaunchVariable> {
        let mut known: Vec<(&str, &str)> = Vec::new();
        for variable in &self.variables {
            let value = values.get(&variable.name).or(variable.default.as_ref()).ok_or(variable)?;
            known.push((&variable.token, value));
        }
        let fill = |text: &str| replaced(text, &known);
        let secrets = self.secrets.0.iter().map(|(name, value)| (name.clone(), fill(value))).collect();
        let address = match &self.address {
            ServerAddress::Stdio { command, args, env, secret_env, cwd } => ServerAddress::Stdio {
                command: fill(command),
                args: args.iter().map(|arg| fill(arg)).collect(),
                env: env.clone(),
                secret_env: secret_env.clone(),
                cwd: cwd.as_deref().map(fill),
            },
            ServerAddress::Http { url, secret_headers } => {
                ServerAddress::Http { url: fill(url), secret_headers: secret_headers.clone() }
            }
        };
        Ok((address, HiddenValues(secrets)))
    }

    /// Whether this is the server of that address: the same but for variables, whose values are not known here. The
    /// full path of a command counts as the command itself.
    #[must_use]
    pub fn is_of(&self, address: &ServerAddress, located: &ServerAddress) -> bool {
        let same = |template: &str, text: &str| self.fits(template, text);
        let names_fit = secret_names(&self.address) == secret_names(address);
        match (&self.address, address) {
            (
                ServerAddress::Stdio { command, args, cwd, .. },
                ServerAddress::Stdio { command: command2, args: args2, cwd: cwd2, .. },
            ) => {
                let found = match located {
                    ServerAddress::Stdio { command, .. } => command == command2,
                    ServerAddress::Http { .. } => false,
                };
                names_fit
                    && (found || same(command, command2))
                    && args.len() == args2.len()
                    && args.iter().zip(args2).all(|(one, other)| same(one, other))
                    && match (cwd, cwd2) {
                        (None, None) => true,
                        (Some(one), Some(other)) => same(one, other),
                        (Some(_), None) | (None, Some(_)) => false,
                    }
            }
            (ServerAddress::Http { url, .. }, ServerAddress::Http { url: url2, .. }) => names_fit && same(url, url2),
            (ServerAddress::Stdio { .. }, ServerAddress::Http { .. })
            | (ServerAddress::Http { .. }, ServerAddress::Stdio { .. }) => false,
        }
    }

    /// Whether a value that is kept may be this one of the file.
    #[must_use]
    pub fn secret_fits(&self, name: &str, kept: &str) -> bool {
        self.secrets.0.get(name).is_some_and(|value| self.fits(value, kept))
    }

    /// Whether a text is the template with some values for its variables.
    fn fits(&self, template: &str, text: &str) -> bool {
        let mut parts = vec![template];
        for variable in &self.variables {
            parts = parts.iter().flat_map(|part| part.split(variable.token.as_str())).collect();
        }
        let Some((first, others)) = parts.split_first() else { return text.is_empty() };
        let Some(mut rest) = text.strip_prefix(first) else { return false };
        let Some((last, between)) = others.split_last() else { return rest.is_empty() };
        for part in between {
            let Some((_, after)) = rest.split_once(part) else { return false };
            rest = after;
        }
        rest.ends_with(last)
    }
}

/// A text with each token replaced once, so that a value that looks like a token stays what it is.
fn replaced(text: &str, known: &[(&str, &str)]) -> String {
    let mut done = String::new();
    let mut rest = text;
    loop {
        let next = known.iter().filter_map(|(token, value)| rest.find(token).map(|at| (at, *token, *value)));
        let Some((at, token, value)) = next.min_by_key(|(at, token, _)| (*at, usize::MAX.saturating_sub(token.len())))
        else {
            done.push_str(rest);
            return done;
        };
        done.push_str(rest.get(..at).unwrap_or_default());
        done.push_str(value);
        rest = rest.get(at.saturating_add(token.len())..).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(args: &[&str], tokens: &[&str]) -> ClientLaunch {
        let variable = |token: &&str| LaunchVariable {
            token: (*token).into(),
            name: token.trim_matches(['$', '{', '}']).into(),
            is_environment: true,
            is_secret: false,
            default: None,
        };
        ClientLaunch {
            address: ServerAddress::Stdio {
                command: "npx".into(),
                args: args.iter().map(|arg| (*arg).to_owned()).collect(),
                env: BTreeMap::new(),
                secret_env: vec!["KEY".into()],
                cwd: None,
            },
            secrets: HiddenValues(BTreeMap::from([("KEY".into(), "Bearer ${T}".into())])),
            variables: tokens.iter().map(variable).collect(),
        }
    }

    #[test]
    fn a_launch_is_whole_when_every_variable_has_a_value_and_found_again_afterwards() {
        let launch = launch(&["--root", "${DIR}/a${DIR}"], &["${DIR}", "${T}"]);
        let mut values = BTreeMap::from([("DIR".to_owned(), "/x ${T}".to_owned())]);
        assert_eq!(launch.filled(&values).expect_err("one is missing").name, "T");
        values.insert("T".into(), "s3".into());
        let (address, secrets) = launch.filled(&values).expect("all are known");
        let ServerAddress::Stdio { args, .. } = &address else { panic!("a command") };
        assert_eq!(args[1], "/x ${T}/a/x ${T}", "a value is not read for variables");
        assert_eq!(secrets.0["KEY"], "Bearer s3");
        assert!(launch.is_of(&address, &address) && launch.secret_fits("KEY", "Bearer s3"));
        assert!(!launch.secret_fits("KEY", "Basic s3"));
        assert!(!format!("{launch:?}").contains("Bearer"), "a value of a secret is never printed");
    }
}
