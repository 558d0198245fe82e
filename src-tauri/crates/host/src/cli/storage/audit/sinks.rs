//! `taskwarden audit sinks`: collectors to which the core sends each row of the audit log, each task that ended, or both.
//!
//! Only asks and prints. Values of headers come from the environment or a hidden prompt, never from arguments.

use std::collections::BTreeMap;

use api::calls::Nothing;
use api::calls::core::sinks::{AddSink, OneSink, ResumeSink};
use api::dto::core::sink::{SignalDto, SinkDto, SinkList};
use clap::{Args, Subcommand, ValueEnum};

use crate::app::core_client::CoreClient;
use crate::cli::input::secrets::take_secrets;
use crate::cli::output::exit_code::{CommandResult, DONE};
use crate::cli::output::screen::Screen;
use crate::cli::output::sentences::one_line;
use crate::config::Config;

/// Commands about sinks.
#[derive(Debug, Subcommand)]
pub(crate) enum SinkCommand {
    /// List the collectors, what each is sent, how far that came, and why it waits.
    List,
    /// Send to one more collector.
    #[command(subcommand)]
    Add(SinkKind),
    /// Send nothing to a collector any more, and forget its headers. What it has stays.
    Remove(RemoveSinkArgs),
    /// Send again to a collector that refused and is paused, or try now one that is tried again later.
    Resume(ResumeSinkArgs),
}

/// What the collector speaks.
#[derive(Debug, Subcommand)]
pub(crate) enum SinkKind {
    /// OTLP over HTTP, as the OpenTelemetry Collector and most systems for logs and traces take it.
    Otlp(OtlpArgs),
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum SignalArg {
    /// Each row of the audit log as a log record.
    Logs,
    /// Each task that ended as a span.
    Traces,
}

impl SignalArg {
    const fn signal(self) -> SignalDto {
        match self {
            Self::Logs => SignalDto::Logs,
            Self::Traces => SignalDto::Traces,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct OtlpArgs {
    /// The address of the collector, to which `/v1/logs` and `/v1/traces` are added. `http` only on this machine.
    #[arg(value_name = "URL")]
    url: String,
    /// What it is sent; `logs,traces` sends both.
    #[arg(long, value_enum, value_name = "SIGNALS", value_delimiter = ',', default_values_t = [SignalArg::Logs])]
    signals: Vec<SignalArg>,
    /// The name of an HTTP header with a secret value, such as `Authorization`. The value is read from this environment
    /// variable, or asked for.
    #[arg(long = "header", value_name = "NAME[=VARIABLE]")]
    headers: Vec<String>,
    /// The first row that is sent; of tasks, those that ended from this row on. 1 sends all that are kept. Default: the row
    /// that records this.
    #[arg(long, value_name = "NUMBER")]
    first: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct RemoveSinkArgs {
    /// The number of the sink, as `list` shows it.
    #[arg(value_name = "ID", value_parser = sink_id)]
    id: u32,
}

#[derive(Debug, Args)]
pub(crate) struct ResumeSinkArgs {
    /// The number of the sink, as `list` shows it.
    #[arg(value_name = "ID", value_parser = sink_id)]
    id: u32,
    /// The name of a header that gets a new value, which is read from this environment variable, or asked for.
    #[arg(long = "header", value_name = "NAME[=VARIABLE]")]
    headers: Vec<String>,
}

/// The number of a sink.
fn sink_id(word: &str) -> Result<u32, String> {
    let id = word.parse().ok().filter(|id| *id > 0);
    id.ok_or_else(|| "a sink has a number, such as 1; `taskwarden audit sinks list` shows them".to_owned())
}

pub(super) async fn run(command: SinkCommand, config: &Config, screen: &Screen) -> CommandResult {
    match command {
        SinkCommand::List => {
            let core = CoreClient::attach_or_read(config).await?;
            list(&core.request("audit.sinks", &Nothing {}).await?, screen)
        }
        SinkCommand::Add(SinkKind::Otlp(OtlpArgs { url, signals, headers, first })) => {
            let core = CoreClient::attach(config)?;
            let headers = header_values(&headers, screen).await?;
            let signals = signals.into_iter().map(SignalArg::signal).collect();
            let added: SinkDto = core.request("audit.addSink", &AddSink { url, signals, headers, first }).await?;
            show(&added, screen)
        }
        SinkCommand::Remove(RemoveSinkArgs { id }) => {
            let left: SinkList = CoreClient::attach(config)?.request("audit.removeSink", &OneSink { id }).await?;
            if screen.is_json() {
                return screen.json(&left);
            }
            screen.line(&format!("Nothing is sent to sink {id} any more, and its headers are forgotten."));
            Ok(DONE)
        }
        SinkCommand::Resume(ResumeSinkArgs { id, headers }) => {
            let core = CoreClient::attach(config)?;
            let headers = header_values(&headers, screen).await?;
            show(&core.request("audit.resumeSink", &ResumeSink { id, headers }).await?, screen)
        }
    }
}

/// The values of headers, from the environment or from a person.
pub(super) async fn header_values(
    names: &[String],
    screen: &Screen,
) -> Result<BTreeMap<String, String>, api::ApiError> {
    let mut values = BTreeMap::new();
    take_secrets(names, &mut values, screen).await?;
    Ok(values)
}

/// One sink after an attempt to send to it.
fn show(sink: &SinkDto, screen: &Screen) -> CommandResult {
    if screen.is_json() {
        return screen.json(sink);
    }
    say(sink, screen);
    if sink.is_paused() {
        screen.note(&format!(
            "Rows wait until `taskwarden audit sinks resume {0}`; `taskwarden audit sinks remove {0}` ends it.",
            sink.id
        ));
    } else if sink.signals.iter().any(|signal| signal.trouble.is_some()) {
        screen.note("It is tried again by itself, and `taskwarden audit sinks list` shows how it goes.");
    }
    Ok(DONE)
}

fn say(sink: &SinkDto, screen: &Screen) {
    for sentence in sink.sentences() {
        screen.line(&one_line(&sentence));
    }
}

fn list(all: &SinkList, screen: &Screen) -> CommandResult {
    if screen.is_json() {
        return screen.json(all);
    }
    if all.sinks.is_empty() {
        screen.line("Nothing is sent anywhere. `taskwarden audit sinks add otlp URL` names a collector.");
    }
    for sink in &all.sinks {
        say(sink, screen);
    }
    Ok(DONE)
}
