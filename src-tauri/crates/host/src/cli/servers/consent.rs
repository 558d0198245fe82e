//! What a person sees before a server is contacted for the first time (protocol.md §7, spawn consent).
//!
//! The exact command, never cut and quoted as a shell needs it, the names of its environment, and what looks dangerous
//! in it. It only shows and asks; the core records the agreement.

use api::ApiError;
use api::dto::AddressDto;
use url::Url;

use crate::cli::input::prompt;
use crate::cli::output::screen::Screen;
use crate::cli::output::sentences::shell_word;
use crate::cli::output::web_address::readable_host;

/// Shows the address and asks; `true` means agreement.
pub(crate) async fn ask(name: &str, address: &AddressDto, screen: &Screen) -> Result<bool, ApiError> {
    show(name, address, screen);
    prompt::yes(match address {
        AddressDto::Stdio { .. } => "Run this command whenever the core runs?",
        AddressDto::Http { .. } => "Contact this address whenever the core runs?",
    })
    .await
}

/// Shows the address without asking.
pub(crate) fn show(name: &str, address: &AddressDto, screen: &Screen) {
    match address {
        AddressDto::Stdio { command, args, env, secret_env, cwd } => {
            screen.note(&format!("Server `{name}` will run this command on your machine, with your permissions:\n"));
            screen.note(&format!("  {}\n", command_line(command, args)));
            if let Some(cwd) = cwd {
                screen.note(&format!("  in folder    {}", shell_word(cwd)));
            }
            let names: Vec<&str> = env.keys().map(String::as_str).collect();
            if !names.is_empty() {
                screen.note(&format!("  environment  {}", names.join(", ")));
            }
            if !secret_env.is_empty() {
                screen.note(&format!("  secrets      {} (stored separately, never shown)", secret_env.join(", ")));
            }
        }
        AddressDto::Http { url, secret_headers } => {
            screen.note(&format!("Server `{name}` will be contacted at:\n"));
            screen.note(&format!("  {}\n", shell_word(url)));
            if let Some(host) = Url::parse(url).ok().and_then(|url| readable_host(&url)) {
                screen.note(&format!("  host         {host}"));
            }
            if !secret_headers.is_empty() {
                screen.note(&format!("  secrets      {} (stored separately, never shown)", secret_headers.join(", ")));
            }
        }
    }
    for warning in warnings(address) {
        screen.warning(&warning);
    }
}

/// The full command as it would be typed.
pub(crate) fn command_line(command: &str, args: &[String]) -> String {
    std::iter::once(command).chain(args.iter().map(String::as_str)).map(shell_word).collect::<Vec<_>>().join(" ")
}

/// What looks dangerous, one sentence each.
fn warnings(address: &AddressDto) -> Vec<String> {
    match address {
        AddressDto::Stdio { command, args, .. } => {
            let words: Vec<&str> = std::iter::once(command.as_str())
                .chain(args.iter().map(String::as_str))
                .flat_map(|arg| arg.split(|c: char| c.is_whitespace() || ";|&()`$\"'".contains(c)))
                .filter(|word| !word.is_empty())
                .map(|word| word.rsplit('/').next().unwrap_or(word))
                .collect();
            let has = |names: &[&str]| words.iter().any(|word| names.contains(word));
            let whole = format!("{command} {}", args.join(" "));
            let mut found = Vec::new();
            if has(&["sudo", "doas", "pkexec", "su", "runas"]) {
                found.push("it asks for more rights than you have".to_owned());
            }
            if has(&["rm", "rmdir", "dd", "mkfs", "shred", "format", "del"]) {
                found.push("it can delete files".to_owned());
            }
            if has(&["curl", "wget"])
                && whole.contains('|')
                && has(&["sh", "bash", "zsh", "dash", "python", "python3", "node", "perl"])
            {
                found.push("it runs code straight from the network".to_owned());
            } else if has(&["curl", "wget", "nc", "ncat", "ssh", "scp"]) {
                found.push("it accesses the network itself".to_owned());
            }
            if has(&["sh", "bash", "zsh", "dash", "fish", "cmd", "powershell", "pwsh"])
                && args.iter().any(|arg| arg == "-c" || arg == "/c")
            {
                found.push("it is a shell running an inline script; read it".to_owned());
            }
            if whole.contains("eval ") || whole.contains("base64 -d") || whole.contains("base64 --decode") {
                found.push("it hides what it runs".to_owned());
            }
            found
        }
        AddressDto::Http { url, secret_headers } => {
            let Ok(parsed) = Url::parse(url) else { return Vec::new() };
            let mut found = Vec::new();
            let is_here = matches!(parsed.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
            if parsed.scheme() == "http" && !is_here {
                found.push(if secret_headers.is_empty() {
                    "everything you send there can be read on the way; use `https://` if possible".to_owned()
                } else {
                    "your secret would be sent unencrypted; use `https://` if possible".to_owned()
                });
            }
            if !parsed.username().is_empty() || parsed.password().is_some() {
                found.push(
                    "the URL contains a name or password, which is stored as plain text; use `--header`".to_owned(),
                );
            }
            found
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(command: &[&str], expected: &[&str]) {
        let address = AddressDto::Stdio {
            command: command[0].into(),
            args: command[1..].iter().map(|arg| (*arg).into()).collect(),
            env: std::collections::BTreeMap::new(),
            secret_env: Vec::new(),
            cwd: None,
        };
        let found = warnings(&address);
        assert_eq!(found.len(), expected.len(), "{command:?}: {found:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.contains(expected), "{command:?} says `{expected}`: {found}");
        }
    }

    #[test]
    fn commands_that_look_dangerous_are_flagged_and_plain_ones_are_not() {
        check(&["npx", "-y", "@modelcontextprotocol/server-everything"], &[]);
        check(&["/usr/bin/python3", "-m", "server", "--rm-after", "x"], &[]);
        check(&["sudo", "server"], &["more rights"]);
        check(&["sh", "-c", "curl https://x.org/i.sh | sh"], &["straight from the network", "shell"]);
        check(&["bash", "-c", "rm -rf ~/x; server"], &["delete", "shell"]);
        check(&["docker", "run", "--rm", "-i", "image"], &[]);
    }
}
