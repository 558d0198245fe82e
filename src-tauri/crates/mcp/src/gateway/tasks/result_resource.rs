//! `resources/read` of `taskwarden://results/HANDLE`: the stored result of a task, whole or a page of it.
//!
//! Only the task's own agent reads it, and only in the form that it may have: withheld, held, foreign and unknown are one
//! answer. Pages are cut in `results/pages.rs`.

use domain::ids::HandleId;
use domain::ports::TokenCounter;
use domain::task::ResultForm;
use engine::Passed;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::gateway::clients::usage::UsageReport;
use crate::gateway::conversion::meta::{META_RANGE, META_SLICE};
use crate::gateway::conversion::raw_json::text_result;
use crate::gateway::conversion::result_uri::PLAIN;
use crate::gateway::conversion::{result_dialect, result_uri};
use crate::gateway::request_context::RequestContext;
use crate::gateway::results::pages::{NOT_A_NUMBER, PageRange, ResultPage, digits, whole_number};
use crate::gateway::results::{cutting, outcome};
use crate::gateway::servers::targets;
use crate::gateway::tasks::lookup;
use crate::server::RequestParams;
use crate::server::rpc_error::{RequestError, RequestErrorKind};

/// Answers `resources/read` of a result.
///
/// # Errors
/// The one answer for what is not there for this agent.
pub(crate) async fn read(
    context: &RequestContext,
    uri: &str,
    params: &RequestParams,
    usage: &mut UsageReport<'_>,
) -> Result<Box<RawValue>, RequestError> {
    usage.count_errors();
    let (id, query) = result_uri::parts(uri).ok_or_else(targets::unknown_resource)?;
    let handle = lookup::task(context, id).await.map_err(unknown)?;
    let Some((result, form)) = outcome::readable(context, &handle).await? else {
        return Err(targets::unknown_resource());
    };
    let range = range(query, params)?;
    let page = match (range, form) {
        (None, ResultForm::Whole) => {
            // Counting runs beside the actors as well: the text may be long.
            let counted = move |scale: &dyn TokenCounter| {
                let text = scale.words(result.as_str());
                (text.chars().count(), text)
            };
            let (of, text) = cutting::run(&context.state, handle.id, counted).await?;
            ResultPage { text, offset: 0, next: None, of }
        }
        (range, ResultForm::Whole | ResultForm::Slices | ResultForm::Trimmed { .. }) => {
            cutting::page(context, &handle, result, range.unwrap_or_default()).await?
        }
    };
    usage.set_task(&handle);
    let next = page.next.map(|next| (next, next_uri(handle.id, next, range)));
    let note = next.as_ref().map(|(at, uri)| format!("[{at} of {} characters; it goes on at {uri}]", page.of));
    let shown: Vec<&str> = std::iter::once(page.text.as_str()).chain(note.as_deref()).collect();
    usage.add(Passed::Slice(text_result(&shown)));
    let place = json!({"offset": page.offset, "next": page.next, "of": page.of});
    let mut contents = vec![json!({"uri": uri, "mimeType": PLAIN, "text": page.text, "_meta": {META_SLICE: place}})];
    if let (Some((_, next)), Some(note)) = (next, note) {
        contents.push(json!({"uri": next, "mimeType": PLAIN, "text": note}));
    }
    let result = result_dialect::own(context, &json!({"contents": contents}))?;
    Ok(result_dialect::fit(context, "resources/read", result))
}

/// An unknown task and one of another agent look the same.
fn unknown(fault: RequestError) -> RequestError {
    if fault.kind == RequestErrorKind::InvalidParams { targets::unknown_resource() } else { fault }
}

/// The range that is asked for, in the URI or in `_meta`. A misspelt one is refused: the whole, or the beginning once more,
/// would not be what was asked for.
fn range(query: Option<&str>, params: &RequestParams) -> Result<Option<PageRange>, RequestError> {
    let mut range = None::<PageRange>;
    for pair in query.into_iter().flat_map(|query| query.split('&')).filter(|pair| !pair.is_empty()) {
        let (name, said) = pair.split_once('=').unwrap_or((pair, ""));
        set_number(&mut range, name, digits(said))?;
    }
    match params.meta().get(META_RANGE) {
        None | Some(Value::Null) => {}
        Some(Value::Object(members)) => {
            for (name, said) in members {
                set_number(&mut range, name, whole_number(said))?;
            }
        }
        Some(_) => return Err(RequestError::params(format!("`{META_RANGE}` must be an object"))),
    }
    Ok(range)
}

fn set_number(range: &mut Option<PageRange>, name: &str, number: Option<u64>) -> Result<(), RequestError> {
    let number = || number.ok_or_else(|| RequestError::params(format!("`{name}` {NOT_A_NUMBER}")));
    match name {
        "offset" => range.get_or_insert_default().offset = usize::try_from(number()?).unwrap_or(usize::MAX),
        "tokens" => range.get_or_insert_default().tokens = Some(number()?),
        _ => return Err(RequestError::params(format!("`{name}` is not known here; a range is `offset` and `tokens`"))),
    }
    Ok(())
}

/// The URI of the next page, as large as this one.
fn next_uri(id: HandleId, next: usize, range: Option<PageRange>) -> String {
    let tokens = range.and_then(|range| range.tokens).map_or_else(String::new, |tokens| format!("&tokens={tokens}"));
    format!("{}?offset={next}{tokens}", result_uri::uri(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_stands_in_the_uri_or_beside_it() {
        let params = |text: &str| RequestParams::open(RawValue::from_string(text.to_owned()).ok()).expect("an object");
        let none = params("{}");
        let uri = |text: &'static str| result_uri::parts(text).expect("it is one of ours");
        assert_eq!(uri("taskwarden://results/hdl_1"), ("hdl_1", None));
        let (id, query) = uri("taskwarden://results/hdl_1?offset=12&tokens=5");
        assert_eq!(id, "hdl_1");
        let wanted = Some(PageRange { offset: 12, tokens: Some(5), ..PageRange::default() });
        assert_eq!(range(query, &none).expect("numbers"), wanted);
        let beside = params(r#"{"_meta":{"io.taskwarden/range":{"offset":12,"tokens":5}}}"#);
        assert_eq!(range(None, &beside).expect("numbers"), wanted);
        assert_eq!(range(None, &none).expect("nothing"), None);
        let spelt = params(r#"{"_meta":{"io.taskwarden/range":{"offset":"12","tokens":5.0}}}"#);
        assert_eq!(range(None, &spelt).expect("what models write for numbers"), wanted);
        for wrong in ["offset=-1", "offset=x", "tokens=1.5", "offset=", "offset", "ofset=5", "=5"] {
            assert!(range(Some(wrong), &none).is_err(), "{wrong}");
        }
        for wrong in [r#"{"offset":-1}"#, r#"{"offset":1.5}"#, r#"{"offset":"x"}"#, r#"{"ofset":5}"#, "5"] {
            let beside = params(&format!(r#"{{"_meta":{{"io.taskwarden/range":{wrong}}}}}"#));
            assert!(range(None, &beside).is_err(), "{wrong}");
        }
    }
}
