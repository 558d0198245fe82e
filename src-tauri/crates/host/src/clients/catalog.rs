//! Agent programs as data: where their files are, in which format, under which keys their servers stand, and how an entry
//! reads.
//!
//! Sources are the pages of their makers and, for those in `tests/agents`, the programs themselves. To add a program, add
//! one row; `places.rs` finds its files, `entry.rs` knows the shapes of entries.

use api::calls::clients::files::FileScope;

use super::document::Format;
use super::variables::VariableForm;

/// One agent program.
#[derive(Debug)]
pub(super) struct ClientKind {
    /// Its word for the command line, and the name of the agent that is made for it.
    pub(super) word: &'static str,
    pub(super) label: &'static str,
    pub(super) shape: EntryShape,
    pub(super) variables: VariableForm,
    /// The first that is there counts, where several are the same file under other names.
    pub(super) files: &'static [ClientFileKind],
}

/// One file of a program.
#[derive(Debug)]
pub(super) struct ClientFileKind {
    pub(super) place: FilePlace,
    pub(super) scope: FileScope,
    pub(super) format: Format,
    /// The keys that lead to the servers; `*` stands for any key, which is the folder that they hold for.
    pub(super) sections: &'static [&'static [&'static str]],
}

/// Where a file is.
#[derive(Debug, Clone, Copy)]
pub(super) enum FilePlace {
    /// Below the home folder.
    Home(&'static str),
    /// Below `XDG_CONFIG_HOME`, by default `~/.config`.
    Config(&'static str),
    /// Below the folder that a variable names; otherwise below the home folder.
    Named { variable: &'static str, file: &'static str, otherwise: &'static str },
    /// Below the folder of a project.
    Project(&'static str),
}

/// How an entry says what is started or contacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryShape {
    /// `command`, `args`, `env`, `cwd`, or `url` and `headers`.
    Usual,
    /// As usual, and `command` may be an object; entries of extensions have no command.
    Zed,
    /// `type` is `local` or `remote`; `command` is a list and the variables are `environment`.
    Opencode,
    /// As usual, with `http_headers`, `env_http_headers`, `bearer_token_env_var` and `env_vars`.
    Codex,
    /// `cmd`, `args`, `envs`, or `uri` and `headers`; `type` says which.
    Goose,
    /// A list of entries, each with its `name`.
    Continue,
}

const SERVERS: &[&[&str]] = &[&["mcpServers"]];

const fn user(place: FilePlace, format: Format, sections: &'static [&'static [&'static str]]) -> ClientFileKind {
    ClientFileKind { place, scope: FileScope::User, format, sections }
}

const fn project(file: &'static str, format: Format, sections: &'static [&'static [&'static str]]) -> ClientFileKind {
    ClientFileKind { place: FilePlace::Project(file), scope: FileScope::Project, format, sections }
}

/// Every program that is known.
pub(super) static CLIENTS: &[ClientKind] = &[
    ClientKind {
        word: "claude-code",
        label: "Claude Code",
        shape: EntryShape::Usual,
        variables: VariableForm::Braces,
        files: &[
            user(
                FilePlace::Named { variable: "CLAUDE_CONFIG_DIR", file: ".claude.json", otherwise: "" },
                Format::Json,
                &[&["mcpServers"], &["projects", "*", "mcpServers"]],
            ),
            project(".mcp.json", Format::Json, SERVERS),
        ],
    },
    ClientKind {
        word: "claude-desktop",
        label: "Claude Desktop",
        shape: EntryShape::Usual,
        variables: VariableForm::Literal,
        files: &[user(FilePlace::Config("Claude/claude_desktop_config.json"), Format::Json, SERVERS)],
    },
    ClientKind {
        word: "cursor",
        label: "Cursor",
        shape: EntryShape::Usual,
        variables: VariableForm::Braces,
        files: &[
            user(FilePlace::Home(".cursor/mcp.json"), Format::Json, SERVERS),
            project(".cursor/mcp.json", Format::Json, SERVERS),
        ],
    },
    ClientKind {
        word: "vscode",
        label: "VS Code",
        shape: EntryShape::Usual,
        variables: VariableForm::Braces,
        files: &[
            user(FilePlace::Config("Code/User/mcp.json"), Format::Jsonc, &[&["servers"]]),
            project(".vscode/mcp.json", Format::Jsonc, &[&["servers"]]),
        ],
    },
    ClientKind {
        word: "zed",
        label: "Zed",
        shape: EntryShape::Zed,
        variables: VariableForm::Literal,
        files: &[
            user(FilePlace::Config("zed/settings.json"), Format::Jsonc, &[&["context_servers"]]),
            project(".zed/settings.json", Format::Jsonc, &[&["context_servers"]]),
        ],
    },
    ClientKind {
        word: "opencode",
        label: "opencode",
        shape: EntryShape::Opencode,
        variables: VariableForm::Opencode,
        files: &[
            user(FilePlace::Config("opencode/opencode.json"), Format::Jsonc, &[&["mcp"]]),
            user(FilePlace::Config("opencode/opencode.jsonc"), Format::Jsonc, &[&["mcp"]]),
            project("opencode.json", Format::Jsonc, &[&["mcp"]]),
        ],
    },
    ClientKind {
        word: "codex",
        label: "Codex",
        shape: EntryShape::Codex,
        variables: VariableForm::Literal,
        files: &[
            user(
                FilePlace::Named { variable: "CODEX_HOME", file: "config.toml", otherwise: ".codex" },
                Format::Toml,
                &[&["mcp_servers"]],
            ),
            project(".codex/config.toml", Format::Toml, &[&["mcp_servers"]]),
        ],
    },
    ClientKind {
        word: "gemini-cli",
        label: "Gemini CLI",
        shape: EntryShape::Usual,
        variables: VariableForm::Dollar,
        files: &[
            user(FilePlace::Home(".gemini/settings.json"), Format::Jsonc, SERVERS),
            project(".gemini/settings.json", Format::Jsonc, SERVERS),
        ],
    },
    ClientKind {
        word: "goose",
        label: "Goose",
        shape: EntryShape::Goose,
        variables: VariableForm::Literal,
        files: &[user(FilePlace::Config("goose/config.yaml"), Format::Yaml, &[&["extensions"]])],
    },
    ClientKind {
        word: "cline",
        label: "Cline",
        shape: EntryShape::Usual,
        variables: VariableForm::Literal,
        files: &[user(
            FilePlace::Config("Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"),
            Format::Json,
            SERVERS,
        )],
    },
    ClientKind {
        word: "kiro",
        label: "Kiro",
        shape: EntryShape::Usual,
        variables: VariableForm::Braces,
        files: &[
            user(FilePlace::Home(".kiro/settings/mcp.json"), Format::Json, SERVERS),
            project(".kiro/settings/mcp.json", Format::Json, SERVERS),
        ],
    },
    ClientKind {
        word: "lm-studio",
        label: "LM Studio",
        shape: EntryShape::Usual,
        variables: VariableForm::Literal,
        files: &[user(FilePlace::Home(".lmstudio/mcp.json"), Format::Json, SERVERS)],
    },
    ClientKind {
        word: "continue",
        label: "Continue",
        shape: EntryShape::Continue,
        variables: VariableForm::Literal,
        files: &[user(FilePlace::Home(".continue/config.yaml"), Format::Yaml, SERVERS)],
    },
];
