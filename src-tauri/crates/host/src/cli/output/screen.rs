//! Where a command writes: results to standard output, everything else to standard error.
//!
//! Colour only on a terminal, and only if `NO_COLOR` is not set. A reader that leaves early (`| head`) ends the command
//! quietly. Callers make server text harmless (`sentences.rs`) before it comes here.

use std::io::{self, IsTerminal as _, Write as _};

use anstyle::{AnsiColor, Style};
use api::ApiError;
use serde::Serialize;

use super::exit_code::{CommandResult, DONE};

/// The three streams of a command.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Screen {
    json: bool,
    out_is_terminal: bool,
    err_is_terminal: bool,
    in_is_terminal: bool,
}

impl Screen {
    pub(crate) fn new(json: bool) -> Self {
        Self {
            json,
            out_is_terminal: io::stdout().is_terminal(),
            err_is_terminal: io::stderr().is_terminal(),
            in_is_terminal: io::stdin().is_terminal(),
        }
    }

    /// Whether JSON was asked for.
    pub(crate) const fn is_json(&self) -> bool {
        self.json
    }

    /// Whether results go to a terminal.
    pub(crate) const fn is_terminal(&self) -> bool {
        self.out_is_terminal
    }

    /// Whether a person can be asked: they see the prompt and can type.
    pub(crate) const fn can_ask(&self) -> bool {
        self.in_is_terminal && self.err_is_terminal && !self.json
    }

    /// Whether animations may be drawn on standard error.
    pub(crate) const fn can_draw(&self) -> bool {
        self.err_is_terminal && !self.json
    }

    /// The width for tables: the terminal's; `None` means as wide as needed.
    pub(crate) fn width(&self) -> Option<u16> {
        if self.out_is_terminal { console::Term::stdout().size_checked().map(|(_, columns)| columns) } else { None }
    }

    /// A line of the result.
    pub(crate) fn line(&self, text: &str) {
        written(writeln!(anstream::stdout(), "{text}"));
    }

    /// Bytes of the result, unchanged.
    pub(crate) fn raw(&self, bytes: &[u8]) {
        let mut out = io::stdout().lock();
        written(out.write_all(bytes).and_then(|()| out.flush()));
    }

    /// Prints the result as JSON: pretty on a terminal, one line elsewhere.
    pub(crate) fn json(&self, value: &impl Serialize) -> CommandResult {
        let text =
            if self.out_is_terminal { serde_json::to_string_pretty(value) } else { serde_json::to_string(value) };
        self.raw((text.map_err(|error| ApiError::unwritable(&error))? + "\n").as_bytes());
        Ok(DONE)
    }

    /// A line of JSON in a stream.
    pub(crate) fn json_line(&self, value: &impl Serialize) -> Result<(), ApiError> {
        let text = serde_json::to_string(value).map_err(|error| ApiError::unwritable(&error))?;
        self.raw((text + "\n").as_bytes());
        Ok(())
    }

    /// A remark beside the result.
    pub(crate) fn note(&self, text: &str) {
        // A closed standard error is no reason to stop.
        let _ = writeln!(anstream::stderr(), "{text}");
    }

    /// A remark that an error may follow. Not with JSON: there an error is one object, alone on standard error (ruling 20).
    pub(crate) fn note_to_people(&self, text: &str) {
        if !self.json {
            self.note(text);
        }
    }

    /// Something that a person should look at.
    pub(crate) fn warning(&self, text: &str) {
        let style = Style::new().fg_color(Some(AnsiColor::Yellow.into())).bold();
        self.note(&format!("{style}warning:{style:#} {text}"));
    }

    /// An error: one line and a hint, or one JSON object.
    pub(crate) fn error(&self, error: &ApiError) {
        if self.json {
            let text = serde_json::to_string(error).unwrap_or_default();
            let _ = writeln!(io::stderr(), "{text}");
            return;
        }
        let red = Style::new().fg_color(Some(AnsiColor::Red.into())).bold();
        let cyan = Style::new().fg_color(Some(AnsiColor::Cyan.into()));
        self.note(&format!("{red}error:{red:#} {}", crate::cli::output::sentences::one_line(&error.message)));
        if !error.hint.is_empty() {
            self.note(&format!("{cyan}hint:{cyan:#} {}", crate::cli::output::sentences::one_line(&error.hint)));
        }
    }
}

fn written(outcome: io::Result<()>) {
    match outcome {
        Ok(()) => {}
        // The reader has read enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => std::process::exit(0),
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: the output could not be written: {error}");
            std::process::exit(1);
        }
    }
}
