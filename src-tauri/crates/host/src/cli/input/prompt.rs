//! Reads what a person types, without blocking Ctrl-C.
//!
//! Lines are read on a thread of their own; a command that ends does not wait for it. A prompt for a secret turns the
//! terminal's echo on again however it ends.

use std::io::Write as _;
use std::process::{Command, Stdio};

use api::{ApiError, Code};

use crate::cli::output::screen::Screen;

/// Shows a prompt and reads a line; `None` at the end of input.
pub(crate) async fn line(prompt: &str) -> Result<Option<String>, ApiError> {
    ask(prompt, || {
        let mut text = String::new();
        let read = std::io::stdin().read_line(&mut text)?;
        Ok((read > 0).then(|| text.trim_end_matches(['\n', '\r']).to_owned()))
    })
    .await
}

/// As [`line`], without showing what is typed.
pub(crate) async fn hidden(prompt: &str) -> Result<Option<String>, ApiError> {
    let mut echo = Echo { is_off: true };
    let typed = ask(prompt, || console::Term::stderr().read_secure_line().map(Some)).await;
    echo.is_off = false;
    typed
}

/// Asks for a yes; anything else is no.
pub(crate) async fn yes(prompt: &str) -> Result<bool, ApiError> {
    let answer = line(&format!("{prompt} [y/N] ")).await?;
    Ok(answer.is_some_and(|text| matches!(text.trim().to_lowercase().as_str(), "y" | "yes")))
}

/// Asks for a confirmation, and refuses with `not_done` if the person declines or nobody can be asked.
pub(crate) async fn confirm(question: &str, not_done: &str, screen: &Screen) -> Result<(), ApiError> {
    if !screen.can_ask() {
        let message = format!("{not_done}: nobody confirmed");
        return Err(ApiError::new(Code::Refused, message, "Run it in a terminal, or pass `--yes`."));
    }
    if yes(question).await? { Ok(()) } else { Err(ApiError::new(Code::Refused, not_done, "Nothing was changed.")) }
}

/// Turns echo on again if the prompt ends before its line was read.
struct Echo {
    is_off: bool,
}

impl Drop for Echo {
    fn drop(&mut self) {
        if self.is_off && cfg!(unix) {
            // Fails without a terminal; then there is no echo to turn on.
            let _ = Command::new("stty").arg("echo").stderr(Stdio::null()).status();
        }
    }
}

async fn ask(
    prompt: &str,
    read: impl FnOnce() -> std::io::Result<Option<String>> + Send + 'static,
) -> Result<Option<String>, ApiError> {
    let mut err = anstream::stderr();
    // A prompt that cannot be shown may still be answered.
    let _ = write!(err, "{prompt}").and_then(|()| err.flush());
    match tokio::task::spawn_blocking(read).await {
        Ok(Ok(text)) => Ok(text),
        Ok(Err(error)) => Err(unreadable(&error.to_string())),
        Err(error) => Err(unreadable(&error.to_string())),
    }
}

fn unreadable(why: &str) -> ApiError {
    ApiError::new(Code::Failed, format!("the terminal cannot be read: {why}"), "Try again in another terminal.")
}
