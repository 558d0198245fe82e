//! What each agent program takes: lines for a terminal, and settings for its file.
//!
//! Each form was pasted into the program of the version in `domain::client::profile`, which then said that it was
//! connected; those of `DOCUMENTED` are from the pages of their makers. A line for a terminal never holds the token: it reads it from its file, or waits until it is typed.

use domain::client::profile::{self, ClientProfile};
use serde_json::{Map, Value, json};

use super::{Bridge, Http, NAME, SettingsInput, TOKEN, pretty, servers};
use crate::dto::{ProgramSettings, SettingsPlace, SettingsText, SettingsTransport};
use crate::format::shell_word;

/// Programs with settings of their own.
const KNOWN: [&str; 4] = ["claude-code", "codex", "gemini-cli", "opencode"];

/// Programs whose form is documented and was not measured, with their labels. Nothing else is known of them.
const DOCUMENTED: [(&str, &str); 2] = [("cursor", "Cursor"), ("vscode", "VS Code")];

/// The words of all programs that are known, for the command line.
#[must_use]
pub fn words() -> &'static [&'static str] {
    &KNOWN
}

/// The settings of all programs, and those for any other.
pub(super) fn all(of: SettingsInput<'_>, http: Option<&Http>, bridge: &Bridge) -> Vec<ProgramSettings> {
    let known = KNOWN.iter().filter_map(|word| profile::of_word(word));
    let shape = Shape { of, http, bridge };
    let measured = known.map(|profile| shape.program(profile));
    let documented = DOCUMENTED.into_iter().map(|(word, label)| shape.documented(word, label));
    measured.chain(documented).chain([shape.program(&profile::UNKNOWN)]).collect()
}

#[derive(Clone, Copy)]
struct Shape<'a> {
    of: SettingsInput<'a>,
    http: Option<&'a Http>,
    bridge: &'a Bridge,
}

impl Shape<'_> {
    fn program(self, profile: &ClientProfile) -> ProgramSettings {
        let (texts, mut notes, check) = match profile.word {
            "claude-code" => self.claude_code(),
            "codex" => self.codex(),
            "gemini-cli" => self.gemini_cli(),
            "opencode" => self.opencode(),
            _ => self.other(),
        };
        let is_typed = texts.iter().any(|text| text.text.starts_with("read "));
        if is_typed {
            notes.push(
                "The line for a terminal (bash or zsh) waits for the token: paste it and press Enter. That \
                 keeps it out of the history of your shell."
                    .into(),
            );
        }
        let label = if profile.word == profile::UNKNOWN.word { "Other programs" } else { profile.label };
        ProgramSettings { program: profile.word.into(), label: label.into(), texts, notes, check }
    }

    fn documented(self, word: &str, label: &str) -> ProgramSettings {
        let (texts, notes, check) = if word == "vscode" { self.vscode() } else { self.cursor() };
        ProgramSettings { program: word.into(), label: label.into(), texts, notes, check }
    }

    /// As <https://cursor.com/docs/mcp> had it in November 2026.
    fn cursor(self) -> Parts {
        const FILE: &str = "~/.cursor/mcp.json";
        let mut texts = Vec::new();
        if let Some(Http { url, header }) = self.http {
            let remote = json!({ "url": url, "headers": { "Authorization": header } });
            texts.push(file(SettingsTransport::Http, FILE, servers(remote)));
        }
        texts.push(file(SettingsTransport::Stdio, FILE, self.bridge.servers(None)));
        (texts, vec!["`.cursor/mcp.json` in a project holds for that project alone.".into()], None)
    }

    /// As <https://code.visualstudio.com/docs/copilot/reference/mcp-configuration> had it in November 2026.
    fn vscode(self) -> Parts {
        const FILE: &str = "~/.config/Code/User/mcp.json";
        let whole = |server: Value| pretty(&json!({ "servers": { NAME: server } }));
        let mut texts = Vec::new();
        if let Some(Http { url, header }) = self.http {
            let remote = json!({ "type": "http", "url": url, "headers": { "Authorization": header } });
            texts.push(file(SettingsTransport::Http, FILE, whole(remote)));
        }
        let mut local = self.bridge.command(Some("stdio"));
        texts.push(file(SettingsTransport::Stdio, FILE, whole(local.clone().into())));
        // A line for a terminal must not hold the token.
        if self.of.saved.is_some() {
            local.insert("name".into(), json!(NAME));
            let line = format!("code --add-mcp {}", shell_word::shell_quote(&Value::from(local).to_string()));
            texts.push(terminal(SettingsTransport::Stdio, line));
        }
        let note = "`MCP: Open User Configuration` in the command palette opens this file, wherever it is.";
        (texts, vec![note.into()], None)
    }

    fn claude_code(self) -> Parts {
        const FILE: &str = "~/.claude.json";
        let mut texts = Vec::new();
        if let Some(http) = self.http {
            let url = shell_word::shell_quote(&http.url);
            let add = format!("claude mcp add --transport http {NAME} {url} --scope user --header");
            texts.push(terminal(SettingsTransport::Http, self.with_header(&add)));
            texts.push(file(SettingsTransport::Http, FILE, http.servers(json!("http"))));
        }
        let (read, env) = self.env_options("--env");
        let line = format!("{read}claude mcp add --scope user {NAME}{env} -- {}", self.bridge.line());
        texts.push(terminal(SettingsTransport::Stdio, line));
        texts.push(file(SettingsTransport::Stdio, FILE, self.bridge.servers(Some("stdio"))));
        let note = "In the file of one project, `.mcp.json`, the same settings hold for that project alone.";
        (texts, vec![note.into()], Some("claude mcp list".into()))
    }

    fn codex(self) -> Parts {
        const FILE: &str = "~/.codex/config.toml";
        let mut texts = Vec::new();
        let head = format!("[mcp_servers.{NAME}]");
        if let Some(Http { url, header }) = self.http {
            let (url, header) = (toml(url), toml(header));
            let text = format!("{head}\nurl = {url}\nhttp_headers = {{ Authorization = {header} }}");
            texts.push(file(SettingsTransport::Http, FILE, text));
        }
        let (read, env) = self.env_options("--env");
        let line = format!("{read}codex mcp add {NAME}{env} -- {}", self.bridge.line());
        texts.push(terminal(SettingsTransport::Stdio, line));
        let args: Vec<String> = self.bridge.args.iter().map(|arg| toml(arg)).collect();
        let mut text = format!("{head}\ncommand = {}\nargs = [{}]", toml(&self.bridge.program), args.join(", "));
        if !self.bridge.env.is_empty() {
            let env: Vec<String> =
                self.bridge.env.iter().map(|(name, value)| format!("{name} = {}", toml(value))).collect();
            text.push_str(&format!("\nenv = {{ {} }}", env.join(", ")));
        }
        texts.push(file(SettingsTransport::Stdio, FILE, text));
        let note = "`codex mcp list` shows the settings; `/mcp` in Codex shows whether it is connected.";
        (texts, vec![note.into()], Some("codex mcp list".into()))
    }

    fn gemini_cli(self) -> Parts {
        const FILE: &str = "~/.gemini/settings.json";
        let mut texts = Vec::new();
        if let Some(http) = self.http {
            let url = shell_word::shell_quote(&http.url);
            let add = format!("gemini mcp add --scope user --transport http {NAME} {url} --header");
            texts.push(terminal(SettingsTransport::Http, self.with_header(&add)));
            texts.push(file(SettingsTransport::Http, FILE, http.servers(json!("http"))));
        }
        let (read, env) = self.env_options("--env");
        let line = format!("{read}gemini mcp add --scope user{env} {NAME} {}", self.bridge.line());
        texts.push(terminal(SettingsTransport::Stdio, line));
        texts.push(file(SettingsTransport::Stdio, FILE, self.bridge.servers(None)));
        let note = "Gemini CLI connects to no server in a folder that it does not trust. Trust the folder when it asks, \
                    or set `GEMINI_CLI_TRUST_WORKSPACE=true` where nobody can be asked.";
        (texts, vec![note.into()], Some("gemini mcp list".into()))
    }

    fn opencode(self) -> Parts {
        const FILE: &str = "~/.config/opencode/opencode.json";
        let mcp =
            |server: Value| pretty(&json!({ "$schema": "https://opencode.ai/config.json", "mcp": { NAME: server } }));
        let mut texts = Vec::new();
        if let Some(Http { url, header }) = self.http {
            let headers = json!({ "Authorization": header });
            let remote = json!({ "type": "remote", "url": url, "headers": headers, "oauth": false });
            texts.push(file(SettingsTransport::Http, FILE, mcp(remote)));
        }
        let mut local = Map::new();
        local.insert("type".into(), json!("local"));
        let command: Vec<&String> = [&self.bridge.program].into_iter().chain(&self.bridge.args).collect();
        local.insert("command".into(), json!(command));
        if !self.bridge.env.is_empty() {
            local.insert("environment".into(), self.bridge.env().into());
        }
        texts.push(file(SettingsTransport::Stdio, FILE, mcp(local.into())));
        let mut notes = vec!["`opencode.json` in a project holds for that project alone.".into()];
        if self.http.is_some() {
            notes.push("`\"oauth\": false` keeps opencode from starting a sign-in when the token is refused.".into());
        }
        (texts, notes, Some("opencode mcp list".into()))
    }

    fn other(self) -> Parts {
        let anywhere = |transport, text| SettingsText { transport, place: SettingsPlace::File, file: None, text };
        let mut texts = Vec::new();
        if let Some(http) = self.http {
            texts.push(anywhere(SettingsTransport::Http, http.servers(json!("http"))));
        }
        texts.push(anywhere(SettingsTransport::Stdio, self.bridge.servers(None)));
        let note = "Most programs take one of these; where the names of the fields differ, take the values.";
        (texts, vec![note.into()], None)
    }

    /// A command line that ends with a header, with the header.
    fn with_header(self, add: &str) -> String {
        match self.of.saved {
            Some(path) => format!("{add} \"Authorization: Bearer $(cat {})\"", shell_word::shell_quote(path)),
            None => format!("{READ}{add} \"Authorization: Bearer ${TOKEN}\""),
        }
    }

    /// What comes before a command line that sets the bridge's environment, and the options that set it.
    fn env_options(self, option: &str) -> (&'static str, String) {
        let mut options = String::new();
        for (name, value) in &self.bridge.env {
            let value = if *name == TOKEN { format!("\"${TOKEN}\"") } else { shell_word::shell_quote(value) };
            options.push_str(&format!(" {option} {name}={value}"));
        }
        (if self.of.saved.is_some() { "" } else { READ }, options)
    }
}

/// Texts, notes, and the command that checks them.
type Parts = (Vec<SettingsText>, Vec<String>, Option<String>);

/// Takes the token from the terminal, unseen, into the variable [`TOKEN`]. In bash and zsh.
const READ: &str = "read -rs TASKWARDEN_TOKEN && ";

fn terminal(transport: SettingsTransport, text: String) -> SettingsText {
    SettingsText { transport, place: SettingsPlace::Terminal, file: None, text }
}

fn file(transport: SettingsTransport, file: &str, text: String) -> SettingsText {
    SettingsText { transport, place: SettingsPlace::File, file: Some(file.into()), text }
}

/// A basic string of TOML. JSON writes the same, but leaves one control character that TOML refuses.
fn toml(text: &str) -> String {
    Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}
