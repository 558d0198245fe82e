//! `taskwarden tasks answer`: accept with content, decline, or dismiss a question.
//!
//! The api checks the content against the form (`domain::task::input_request::form`); asking field by field at the terminal is in
//! `question_dialogue.rs`.

use api::ApiError;
use api::calls::inbox::answer::{AnswerChoice, AnswerGiven, AnswerRequest};
use api::calls::tasks::ShownTask;
use api::calls::{Nothing, OneTask};
use api::dto::RecordingDto;
use api::dto::inbox::request::{DeliveryDto, QuestionState};
use clap::{ArgGroup, Args};

use crate::app::core_client::CoreClient;
use crate::cli::input::json_argument;
use crate::cli::output::exit_code::{CommandResult, DONE};
use crate::cli::output::screen::Screen;
use crate::cli::output::sentences::one_line;
use crate::config::Config;

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("outcome").required(true).args(["accept", "decline", "dismiss"])))]
pub(crate) struct AnswerArgs {
    /// The task's handle, or a unique prefix of it.
    id: String,
    /// The key of the question. May be omitted when only one is open.
    #[arg(long, allow_hyphen_values = true)]
    key: Option<String>,
    /// Accept with this answer: a JSON object, `@file.json`, or `-` for standard input. No value for a page to visit.
    #[arg(long, value_name = "JSON", num_args = 0..=1)]
    #[expect(clippy::option_option, reason = "given without a value is not the same as not given")]
    accept: Option<Option<String>>,
    /// Decline: answer no.
    #[arg(long)]
    decline: bool,
    /// Dismiss the question without deciding.
    #[arg(long)]
    dismiss: bool,
}

pub(crate) async fn run(command: AnswerArgs, config: &Config, screen: &Screen) -> CommandResult {
    let AnswerArgs { id, key, accept, decline, dismiss: _ } = command;
    let (action, content) = match accept {
        Some(Some(json)) => {
            let content = json_argument::json(&json, "the answers", config.policy.arguments_cap_bytes)?;
            (AnswerChoice::Accept, Some(content))
        }
        Some(None) => (AnswerChoice::Accept, None),
        None if decline => (AnswerChoice::Decline, None),
        None => (AnswerChoice::Dismiss, None),
    };
    let core = CoreClient::attach(config)?;
    // With JSON, `secretFields` of the question says it.
    if action == AnswerChoice::Accept && !screen.is_json() {
        warn_of_secrets(&core, &id, key.as_deref(), screen).await?;
    }
    let given: AnswerGiven =
        core.request("tasks.answer", &AnswerRequest { id, key, action, content, hold: false }).await?;
    let fault = match delivery_of(&given) {
        DeliveryDto::Recorded | DeliveryDto::Sent => why_not_recording(&core).await,
        DeliveryDto::Acknowledged | DeliveryDto::Refused => None,
    };
    if screen.is_json() {
        screen.json(&given)?;
    } else {
        screen.line(&outcome(&given, fault.is_none()));
    }
    if let Some(fault) = fault {
        screen.warning(&fault);
    }
    Ok(DONE)
}

/// Why nothing new is recorded, and what a person can do; `None` while it is.
async fn why_not_recording(core: &CoreClient) -> Option<String> {
    let asked: Result<RecordingDto, ApiError> = core.request("recording", &Nothing {}).await;
    match asked {
        Ok(RecordingDto::Cannot { message, cure, .. }) => Some(format!("{}. {}", one_line(&message), one_line(&cure))),
        Ok(RecordingDto::Ok) | Err(_) => None,
    }
}

async fn warn_of_secrets(core: &CoreClient, id: &str, key: Option<&str>, screen: &Screen) -> Result<(), ApiError> {
    let shown: ShownTask = core.request("tasks.show", &OneTask { id: id.to_owned() }).await?;
    let open = shown.task.requests.iter().filter(|request| request.is_open());
    for request in open.filter(|request| key.is_none_or(|key| request.key == key)) {
        for field in &request.secret_fields {
            screen.warning(&format!(
                "field `{}` looks like a secret. Servers must not ask for secrets in a form, and {} sees what you send",
                one_line(field),
                shown.task.server
            ));
        }
    }
    Ok(())
}

/// How far the answer came. A server that no longer asks has accepted it, whether its reply or a poll said so first.
fn delivery_of(given: &AnswerGiven) -> DeliveryDto {
    let delivery = given.request.answer.as_ref().map_or(DeliveryDto::Recorded, |answer| answer.delivery);
    let is_confirmed = given.request.state == QuestionState::Confirmed && delivery != DeliveryDto::Refused;
    if is_confirmed { DeliveryDto::Acknowledged } else { delivery }
}

/// `is_recording` says whether new work is recorded now; an answer of a person is recorded in any case.
fn outcome(given: &AnswerGiven, is_recording: bool) -> String {
    let more = match given.still_open {
        0 => String::new(),
        open => format!(" {open} more open on this task."),
    };
    let words = match (delivery_of(given), is_recording) {
        (DeliveryDto::Acknowledged, _) => "Answered; the server accepted it.",
        (DeliveryDto::Refused, _) => {
            let why = given.request.answer.as_ref().and_then(|answer| answer.refused_why.as_deref()).map(one_line);
            return format!("The server refused the answer{}", why.map_or(".".into(), |why| format!(": {why}")));
        }
        (DeliveryDto::Recorded, true) => "Recorded; it will be delivered as soon as the server can be reached.",
        (DeliveryDto::Sent, true) => "Recorded and sent; the server has not accepted it yet.",
        (DeliveryDto::Recorded, false) => {
            "Recorded, and kept; it will be delivered when Taskwarden can record again and the server can be reached."
        }
        (DeliveryDto::Sent, false) => {
            "Recorded and sent, and kept; what the server does with it is recorded when Taskwarden can record again."
        }
    };
    format!("{words}{more}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_is_confirmed_was_taken_whatever_its_delivery_says() {
        let given = |state: &str, delivery: &str| -> AnswerGiven {
            serde_json::from_value(serde_json::json!({
                "id": "t", "stillOpen": 0,
                "request": {
                    "key": "k", "kind": "form", "message": "", "state": state, "openedAt": "", "withdrawnWhy": null,
                    "secretFields": [],
                    "answer": {
                        "action": "accept", "by": "ann", "at": "", "delivery": delivery, "refusedWhy": null,
                        "notBefore": null
                    }
                }
            }))
            .expect("an answer as the api writes it")
        };
        let taken = "Answered; the server accepted it.";
        assert_eq!(outcome(&given("confirmed", "sent"), true), taken, "a look or a reply confirmed it");
        assert_eq!(outcome(&given("answered", "acknowledged"), false), taken, "it was acknowledged");
        let sent = outcome(&given("answered", "sent"), true);
        assert_eq!(sent, "Recorded and sent; the server has not accepted it yet.", "nothing was said of this one");
        for delivery in ["recorded", "sent"] {
            let words = outcome(&given("answered", delivery), false);
            assert!(words.starts_with("Recorded") && words.contains("kept"), "the answer is there: {words}");
            assert!(words.ends_with("can record again.") || words.contains("can record again and"), "{words}");
        }
    }
    #[test]
    fn a_key_may_begin_with_a_hyphen_as_servers_choose_their_keys() {
        use clap::Parser as _;
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            answer: AnswerArgs,
        }
        for words in [["--key=-Q7", "--decline"].as_slice(), &["--key", "-Q7", "--decline"]] {
            let line = ["answer", "hdl_1"].iter().chain(words);
            let Line { answer } = Line::try_parse_from(line).expect("a line as the inbox prints it");
            assert_eq!((answer.key.as_deref(), answer.decline), (Some("-Q7"), true), "{words:?}");
        }
        let request = serde_json::json!({
            "key": "-Q7", "kind": "form", "message": "", "state": "open", "openedAt": "", "withdrawnWhy": null,
            "secretFields": [], "answer": null
        });
        let request = serde_json::from_value(request).expect("a question as the api writes it");
        let command = crate::cli::inbox::answer_command("hdl_1", &request);
        assert_eq!(command, "taskwarden tasks answer hdl_1 --key=-Q7 --accept", "and as it is printed");
    }
}
