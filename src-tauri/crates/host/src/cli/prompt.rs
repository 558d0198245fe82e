//! Reading what a person types, without holding up Ctrl-C.
//!
//! Lines are read on a thread of their own; a command that ends meanwhile does not wait for it. What a secret prompt
//! changed on the terminal is put back however it ends.

use std::io::Write as _;
use std::process::{Command, Stdio};

use api::{ApiError, Code};

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

/// Asks for a plain yes; everything else is no.
pub(crate) async fn yes(prompt: &str) -> Result<bool, ApiError> {
    let answer = line(&format!("{prompt} [y/N] ")).await?;
    Ok(answer.is_some_and(|text| matches!(text.trim().to_lowercase().as_str(), "y" | "yes")))
}

/// Shows again what is typed, when the prompt was left before its line was read.
struct Echo {
    is_off: bool,
}

impl Drop for Echo {
    fn drop(&mut self) {
        if self.is_off && cfg!(unix) {
            // The terminal of this process; without one there is nothing to put back.
            let _ = Command::new("stty").arg("echo").stderr(Stdio::null()).status();
        }
    }
}

async fn ask(
    prompt: &str,
    read: impl FnOnce() -> std::io::Result<Option<String>> + Send + 'static,
) -> Result<Option<String>, ApiError> {
    let mut err = anstream::stderr();
    // A prompt that cannot be shown is still answered by what follows.
    let _ = write!(err, "{prompt}").and_then(|()| err.flush());
    match tokio::task::spawn_blocking(read).await {
        Ok(Ok(text)) => Ok(text),
        Ok(Err(error)) => Err(unreadable(&error.to_string())),
        Err(error) => Err(unreadable(&error.to_string())),
    }
}

fn unreadable(why: &str) -> ApiError {
    ApiError::new(Code::Failed, format!("the terminal could not be read: {why}"), "Try again in another terminal.")
}
