//! The params of a call and its arguments, as slices of one text.
//!
//! Engine, counting and server get the same bytes: nothing is copied for each of them. What the params mean is
//! `call.rs`.

use bytestring::ByteString;
use domain::task::payload::Payload;

use crate::server::RequestParams;
use crate::server::rpc_error::RequestError;

/// The params of a call.
pub(crate) struct CallParams {
    /// All of them, as they came; `None` where there are none.
    pub(crate) whole: Option<Payload>,
    /// The arguments, as they came; `{}` where there are none.
    pub(crate) arguments: Payload,
}

impl CallParams {
    /// Shares the text of a request's params.
    ///
    /// # Errors
    /// When the arguments are no object.
    pub(crate) fn of(params: &RequestParams) -> Result<Self, RequestError> {
        let whole = params.shared();
        let arguments = match (params.said("arguments"), &whole) {
            (Some(said), _) if !said.starts_with('{') => {
                return Err(RequestError::params("`arguments` must be an object"));
            }
            (Some(_), Some(whole)) => params.member_of(whole, "arguments"),
            (Some(_) | None, _) => None,
        };
        let arguments = Payload::new(arguments.unwrap_or_else(|| ByteString::from_static("{}")));
        Ok(Self { whole: whole.map(Payload::new), arguments })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;

    fn of(text: &str) -> Result<CallParams, RequestError> {
        let raw = RawValue::from_string(text.to_owned()).expect("JSON");
        CallParams::of(&RequestParams::open(Some(raw)).expect("an object"))
    }

    #[test]
    fn the_arguments_of_a_call_are_a_part_of_its_params_byte_for_byte() {
        let text = r#"{ "name":"x", "arguments" : { "a" : 1.50, "ü":"\u00e9" } ,"v/x":[1e2]}"#;
        let params = of(text).expect("an object");
        let whole = params.whole.expect("there are params");
        assert_eq!(whole.as_str(), text, "all members are there");
        assert_eq!(params.arguments.as_str(), r#"{ "a" : 1.50, "ü":"\u00e9" }"#, "as they were written");
        let inside = whole.as_str().as_bytes().as_ptr_range();
        assert!(inside.contains(&params.arguments.as_str().as_ptr()), "they are the same bytes");
    }

    #[test]
    fn a_call_without_arguments_has_an_empty_object_and_no_other_kind() {
        for none in [r#"{"name":"x"}"#, r#"{"name":"x","arguments":null}"#] {
            assert_eq!(of(none).expect("none is fine").arguments.as_str(), "{}", "{none}");
        }
        assert!(of(r#"{"name":"x","arguments":[1]}"#).is_err(), "a list is refused");
    }
}
