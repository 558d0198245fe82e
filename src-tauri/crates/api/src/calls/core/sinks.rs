//! Sinks of the audit log: collectors that get each row as an OpenTelemetry log record, each task that ended as a span, or
//! both.
//!
//! The engine sends (`audit_log/sinks.rs`); what a record and a span hold is in `docs/audit.md`. Values of headers come in here and
//! never go out.

use std::collections::BTreeMap;

use domain::audit::log_sink::SinkSignal;
use domain::ports::Secret;
use domain::server::is_loopback_host;
use engine::NewSink;
use serde::{Deserialize, Serialize};
use ts_rs::TS;
use url::Url;

use crate::api::Api;
use crate::caller::Caller;
use crate::calls::Nothing;
use crate::dto::core::sink::{SignalDto, SinkDto, SinkList};
use crate::error::{ApiError, Code};

/// A collector to send to. Has no `Debug`: it carries secrets.
#[derive(Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AddSink {
    /// Its address over OTLP/HTTP; `/v1/logs` or `/v1/traces` at its end is left out.
    pub url: String,
    /// What it is sent; log records when left out.
    #[serde(default = "logs_alone")]
    #[ts(optional, as = "Option<Vec<SignalDto>>")]
    pub signals: Vec<SignalDto>,
    /// Values of headers of each request, by name.
    #[serde(default)]
    #[ts(optional, type = "Record<string, string>")]
    pub headers: BTreeMap<String, String>,
    /// The first row that is sent; the row that records this when left out. Of traces, tasks that ended from it on.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub first: Option<u64>,
}

/// What a collector gets that was named without saying what.
fn logs_alone() -> Vec<SignalDto> {
    vec![SignalDto::Logs]
}

/// The number of a sink, as the list shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OneSink {
    pub id: u32,
}

/// A sink to send to again. Has no `Debug`: it carries secrets.
#[derive(Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ResumeSink {
    pub id: u32,
    /// Values of headers, in place of earlier ones of their names; the others stay.
    #[serde(default)]
    #[ts(optional, type = "Record<string, string>")]
    pub headers: BTreeMap<String, String>,
}

impl Api {
    /// Where the audit log is sent to, and how far each signal came.
    ///
    /// # Errors
    /// When the registry cannot be read.
    pub async fn audit_sinks(&self, _caller: &Caller, _input: Nothing) -> Result<SinkList, ApiError> {
        let stored = self.registry.sinks().await?;
        Ok(SinkList { sinks: stored.sinks.iter().map(|sink| SinkDto::of(sink, stored.last)).collect() })
    }

    /// Sends to one more collector from here on. Returns after the first attempt, or when that takes long.
    ///
    /// # Errors
    /// When no core runs, the address or a header cannot be used, or it cannot be recorded.
    pub async fn audit_add_sink(&self, caller: &Caller, input: AddSink) -> Result<SinkDto, ApiError> {
        let live = self.live()?;
        let AddSink { url, signals, headers, first } = input;
        let url = collector_url(&url)?;
        let origin = url.origin().ascii_serialization();
        let url = url.as_str().trim_end_matches('/').to_owned();
        let signals = signals.into_iter().map(SignalDto::signal).collect();
        let new = NewSink { url, origin, headers: self.taken_headers(headers)?, signals, first };
        let sink = live.engine.add_sink(new, &caller.person).await?;
        self.with_waiting(sink.id).await
    }

    /// Sends nothing to this collector any more, and forgets its headers.
    ///
    /// # Errors
    /// When no core runs, there is no such sink, or it cannot be recorded.
    pub async fn audit_remove_sink(&self, caller: &Caller, input: OneSink) -> Result<SinkList, ApiError> {
        self.live()?.engine.remove_sink(input.id, &caller.person).await?;
        self.audit_sinks(caller, Nothing {}).await
    }

    /// Sends to a collector again that was paused, or at once to one that is tried again later. Returns after the first
    /// attempt, or when that takes long.
    ///
    /// # Errors
    /// When no core runs, there is no such sink, a header cannot be used, or it cannot be recorded.
    pub async fn audit_resume_sink(&self, caller: &Caller, input: ResumeSink) -> Result<SinkDto, ApiError> {
        let live = self.live()?;
        let headers = self.taken_headers(input.headers)?;
        let sink = live.engine.resume_sink(input.id, &headers, &caller.person).await?;
        self.with_waiting(sink.id).await
    }

    async fn with_waiting(&self, id: u32) -> Result<SinkDto, ApiError> {
        let stored = self.registry.sinks().await?;
        let found = stored.sinks.iter().find(|sink| sink.id == id);
        found.map(|sink| SinkDto::of(sink, stored.last)).ok_or_else(|| {
            let hint = "`taskwarden audit sinks list` shows where rows are sent to.";
            ApiError::new(Code::NotFound, format!("sink {id} was removed meanwhile"), hint)
        })
    }

    pub(super) fn taken_headers(&self, headers: BTreeMap<String, String>) -> Result<Vec<(String, Secret)>, ApiError> {
        let most = self.policy.audit.sink_headers_max;
        if headers.len() > most {
            let why = format!("`headers`: {} are more than {most}", headers.len());
            return Err(ApiError::new(Code::Usage, why, "Collectors need one or two, such as `Authorization`."));
        }
        Ok(headers.into_iter().map(|(name, value)| (name, Secret::new(value))).collect())
    }
}

/// The address in front of the paths of the signals. What was typed is never quoted, because it may hold a password.
pub(super) fn collector_url(text: &str) -> Result<Url, ApiError> {
    let bad = |why: &str, hint: &str| Err(ApiError::new(Code::Usage, format!("`url`: {why}"), hint));
    let usual = "Give the whole address of the collector, such as `https://collector.example:4318`.";
    let Ok(mut url) = Url::parse(text.trim()) else { return bad("it is not a URL", usual) };
    if !url.username().is_empty() || url.password().is_some() {
        return bad(
            "it contains a user name or password",
            "Remove the part before `@` and pass `--header Authorization`; its value is kept with the secrets.",
        );
    }
    if url.query().is_some() || url.fragment().is_some() {
        return bad(
            "it has a part behind `?` or `#`",
            "Remove that part; a key goes into a header, such as `--header Authorization`.",
        );
    }
    let Some(host) = url.host_str() else { return bad("it names no host", usual) };
    match url.scheme() {
        "https" => {}
        "http" if is_loopback_host(host) => {}
        "http" => {
            let why =
                format!("`{}` is another machine, and `http` is not encrypted", url.origin().ascii_serialization());
            return bad(&why, "Use `https://`, or send to a collector on this machine that sends on.");
        }
        _ => return bad("it must begin with `https://` or `http://`", usual),
    }
    let path = url.path().trim_end_matches('/');
    let path = SinkSignal::ALL.into_iter().find_map(|signal| path.strip_suffix(signal.path())).unwrap_or(path);
    let path = path.trim_end_matches('/').to_owned();
    url.set_path(&path);
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_a_signal_is_no_part_of_the_address() {
        for (typed, base) in [
            ("https://collector.example", "https://collector.example/"),
            ("https://collector.example:4318/", "https://collector.example:4318/"),
            ("https://collector.example/otlp/", "https://collector.example/otlp"),
            ("https://collector.example/otlp/v1/logs", "https://collector.example/otlp"),
            ("https://collector.example/otlp/v1/traces/", "https://collector.example/otlp"),
            ("https://collector.example/v1/logs", "https://collector.example/"),
            ("http://127.0.0.1:4318", "http://127.0.0.1:4318/"),
            ("http://[::1]:4318", "http://[::1]:4318/"),
            (" http://localhost:4318 ", "http://localhost:4318/"),
        ] {
            assert_eq!(collector_url(typed).map(String::from).ok().as_deref(), Some(base), "{typed}");
        }
    }

    #[test]
    fn an_address_that_leaks_or_is_none_is_refused_without_being_quoted() {
        for (typed, word) in [
            ("collector.example", "not a URL"),
            ("https://ann:hush@collector.example", "user name or password"),
            ("https://hush@collector.example", "user name or password"),
            ("https://collector.example/?key=hush", "behind `?`"),
            ("https://collector.example/#hush", "behind `?`"),
            ("http://collector.example/hush", "not encrypted"),
            ("http://192.168.1.5:4318", "not encrypted"),
            ("http://localhost.example", "not encrypted"),
            ("ftp://collector.example", "must begin"),
            ("file:///tmp/hush", "no host"),
        ] {
            let refused = collector_url(typed).expect_err(typed);
            assert!(refused.message.contains(word), "{typed}: {}", refused.message);
            assert!(!refused.message.contains("hush") && !refused.hint.is_empty(), "{typed}: {}", refused.message);
        }
    }
}
