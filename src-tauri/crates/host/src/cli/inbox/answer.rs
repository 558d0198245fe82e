//! `taskwarden tasks answer`: accept with content, decline, or dismiss a question.
//!
//! The api checks the content against the form (`domain::task::input_request::form`); asking field by field at the terminal is in
//! `question_dialogue.rs`.

use api::calls::OneTask;
use api::calls::inbox::answer::{AnswerChoice, AnswerGiven, AnswerRequest};
use api::calls::tasks::ShownTask;
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
    if screen.is_json() {
        screen.json(&given)?;
    } else {
        screen.line(&outcome(&given));
    }
    Ok(DONE)
}

async fn warn_of_secrets(core: &CoreClient, id: &str, key: Option<&str>, screen: &Screen) -> Result<(), api::ApiError> {
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

fn outcome(given: &AnswerGiven) -> String {
    let delivery = given.request.answer.as_ref().map_or(DeliveryDto::Recorded, |answer| answer.delivery);
    // A server that no longer asks has accepted the answer, whether its reply or a poll said so first.
    let is_confirmed = given.request.state == QuestionState::Confirmed && delivery != DeliveryDto::Refused;
    let delivery = if is_confirmed { DeliveryDto::Acknowledged } else { delivery };
    match (delivery, given.still_open) {
        (DeliveryDto::Acknowledged, 0) => "Answered; the server accepted it.".into(),
        (DeliveryDto::Acknowledged, open) => {
            format!("Answered; the server accepted it. {open} more open on this task.")
        }
        (DeliveryDto::Refused, _) => {
            let why = given.request.answer.as_ref().and_then(|answer| answer.refused_why.as_deref()).map(one_line);
            format!("The server refused the answer{}", why.map_or(".".into(), |why| format!(": {why}")))
        }
        (DeliveryDto::Recorded | DeliveryDto::Sent, 0) => {
            "Recorded; it will be delivered as soon as the server can be reached.".into()
        }
        (DeliveryDto::Recorded | DeliveryDto::Sent, open) => format!("Recorded; {open} more open on this task."),
    }
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
        assert_eq!(outcome(&given("confirmed", "sent")), taken, "a look or a reply confirmed it");
        assert_eq!(outcome(&given("answered", "acknowledged")), taken, "it was acknowledged");
        assert!(outcome(&given("answered", "sent")).starts_with("Recorded"), "nothing was said of this one");
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
