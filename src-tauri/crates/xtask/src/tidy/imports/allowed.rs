//! The allow-list itself, one entry per crate, as words.
//!
//! `ours` and `outside` ship; `dev` adds what the tests of that crate may use beside the shared list. What is named
//! nowhere is forbidden, and so are above all sqlx outside `registry`, MCP libraries outside `mcp`, tauri outside the
//! shell, and everything that awaits or serialises in `domain`.

/// What one crate may use, names with a space between them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Allowed {
    name: &'static str,
    ours: &'static str,
    outside: &'static str,
    dev: &'static str,
    build: &'static str,
}

const LIST: [Allowed; 15] = [
    Allowed {
        name: "domain",
        ours: "",
        outside: "bytestring futures-core jiff serde_json serde_json_canonicalizer sha2 thiserror uuid",
        dev: "",
        build: "",
    },
    Allowed {
        name: "engine",
        ours: "domain",
        outside: "futures parking_lot serde_json serde_json_canonicalizer sha2 thiserror tokio tokio-util tracing",
        dev: "testkit",
        build: "",
    },
    Allowed {
        name: "registry",
        ours: "domain verify",
        outside: "aes-gcm futures futures-core getrandom hmac parking_lot serde serde_json serde_path_to_error sha2 sqlx \
                  thiserror tokio tracing zeroize",
        dev: "testkit",
        build: "",
    },
    Allowed {
        name: "keeper",
        ours: "domain engine",
        outside: "bytes getrandom hmac process-wrap rustix serde serde_json sha2 thiserror tokio tokio-util tracing",
        dev: "",
        build: "",
    },
    Allowed {
        name: "mcp",
        ours: "domain engine keeper",
        outside: "axum base64 bytes bytestring futures futures-core hmac http httparse hyper hyper-util jiff jsonschema memchr \
                  parking_lot process-wrap reqwest rmcp serde serde_json serde_json_canonicalizer sha2 thiserror tokio \
                  tokio-stream tokio-util tracing url",
        dev: "rustix testkit tokens tracing-subscriber",
        build: "",
    },
    Allowed {
        name: "tokens",
        ours: "domain",
        outside: "regex-automata serde serde_json",
        dev: "bpe-openai",
        build: "bpe-openai",
    },
    Allowed {
        name: "verify",
        ours: "",
        outside: "base64 ed25519-dalek serde serde_json sha2",
        dev: "ct-merkle",
        build: "",
    },
    Allowed {
        name: "demo",
        ours: "domain engine mcp",
        outside: "axum bytes futures getrandom jiff jsonschema parking_lot rustix serde_json sha2 thiserror tokio tokio-util \
                  tracing walkdir",
        dev: "reqwest",
        build: "",
    },
    Allowed {
        name: "api",
        ours: "domain engine ts-off verify",
        outside: "base64 csv futures idna parking_lot schemars serde serde_json thiserror tokio url",
        dev: "testkit ts-rs",
        build: "",
    },
    Allowed {
        name: "host",
        ours: "api demo domain engine keeper mcp registry tokens verify",
        outside: "anstream anstyle anyhow axum clap clap_complete comfy-table console directories futures getrandom \
                  hex hyper hyper-util idna indicatif inotify jiff jsonc-parser keyring mimalloc nix notify-rust open \
                  parking_lot percent-encoding reqwest rust-embed rustix serde serde_json thiserror tokio tokio-stream tokio-util \
                  toml toml_edit tower tracing tracing-subscriber url yaml-edit zbus",
        dev: "testkit",
        build: "",
    },
    Allowed {
        name: "testkit",
        ours: "domain",
        outside: "futures futures-core parking_lot proptest serde_json sha2 tokio",
        dev: "",
        build: "",
    },
    Allowed {
        name: "tests",
        ours: "api demo domain engine host mcp registry testkit tokens",
        outside: "axum base64 futures getrandom hyper hyper-util jsonschema parking_lot reqwest rmcp rustix serde \
                  serde_json sha2 tempfile tokio tokio-stream tokio-util",
        dev: "stats_alloc",
        build: "",
    },
    Allowed { name: "ts-off", ours: "", outside: "", dev: "", build: "" },
    Allowed { name: "xtask", ours: "", outside: "semver serde_json toml", dev: "", build: "" },
    Allowed {
        name: "src-tauri",
        ours: "api host",
        outside: "futures parking_lot serde serde_json tauri tauri-plugin-autostart tauri-plugin-deep-link \
                  tauri-plugin-dialog tauri-plugin-global-shortcut tauri-plugin-opener tauri-plugin-single-instance \
                  tauri-plugin-window-state tokio tracing tray-icon url",
        dev: "",
        build: "tauri-build",
    },
];

/// What any crate's tests may use, except those of `xtask`.
const DEV: &str = "proptest tempfile";

/// The entry of a crate; `None` for a crate nobody argued for.
pub(crate) fn allowed(name: &str) -> Option<Allowed> {
    LIST.into_iter().find(|entry| entry.name == name)
}

impl Allowed {
    /// In code that ships.
    pub(crate) fn normal(&self, name: &str) -> bool {
        holds(self.ours, name) || holds(self.outside, name)
    }

    /// In tests and examples, beside [`Allowed::normal`].
    pub(crate) fn dev(&self, name: &str) -> bool {
        holds(self.dev, name) || self.name != "xtask" && holds(DEV, name)
    }

    /// In build scripts.
    pub(crate) fn build(&self, name: &str) -> bool {
        holds(self.build, name)
    }
}

fn holds(words: &str, name: &str) -> bool {
    words.split_whitespace().any(|word| word == name)
}
