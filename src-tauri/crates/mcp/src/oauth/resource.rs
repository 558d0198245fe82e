//! What a server says about itself now, asked without a token: how it refuses, and for whom its documents are.
//!
//! A challenge that was kept may be of an earlier server or network, so where it is used the server is asked again. The
//! library passes over a document at a usual place that is about another server, and goes on without it; here it ends the
//! sign-in. Where the issuer is, is found in `discovery.rs`.

use std::time::Duration;

use domain::ports::SignInFault;
use http::header::HeaderMap;
use reqwest::{Response, StatusCode};
use serde_json::Value;
use url::Url;

use super::faults::{broken, fault, host};

/// Where the document of a resource lies (RFC 9728, §3).
const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// The headers of a refusal (401) to a request without a token; `None` when the server does not refuse it so.
///
/// # Errors
/// When the server does not answer in time.
pub(crate) async fn refusal(url: &str, limit: Duration) -> Result<Option<HeaderMap>, SignInFault> {
    let server = Url::parse(url).map_err(|_| broken("the address of the server is no URL"))?;
    let answer = get(&server, &server, limit).await?;
    Ok((answer.status() == StatusCode::UNAUTHORIZED).then(|| answer.headers().clone()))
}

/// Refuses a server whose documents at the usual places are about another one. `most` is the longest document that is
/// read, in bytes.
///
/// # Errors
/// When one is about another server, or cannot be read.
pub(crate) async fn check_documents(server: &Url, most: usize, limit: Duration) -> Result<(), SignInFault> {
    for path in usual_places(server.path()) {
        let mut at = server.clone();
        at.set_query(None);
        at.set_fragment(None);
        at.set_path(&path);
        let answer = get(&at, server, limit).await?;
        if answer.status() != StatusCode::OK {
            continue;
        }
        if names_another(&body(answer, server, most).await?, server) {
            return Err(about_another(server));
        }
    }
    Ok(())
}

fn about_another(server: &Url) -> SignInFault {
    broken(format!("what `{}` publishes about signing in is not about this server", host(server)))
}

fn usual_places(path: &str) -> Vec<String> {
    let path = path.trim_matches('/');
    if path.is_empty() {
        return vec![WELL_KNOWN.into()];
    }
    vec![format!("{WELL_KNOWN}/{path}"), format!("/{path}{WELL_KNOWN}"), WELL_KNOWN.into()]
}

async fn get(url: &Url, server: &Url, limit: Duration) -> Result<Response, SignInFault> {
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).timeout(limit).build();
    let client = client.map_err(|_| unread(server))?;
    client.get(url.clone()).send().await.map_err(|_| unread(server))
}

async fn body(mut answer: Response, server: &Url, most: usize) -> Result<Vec<u8>, SignInFault> {
    let mut all = Vec::new();
    while let Some(piece) = answer.chunk().await.map_err(|_| unread(server))? {
        if all.len().saturating_add(piece.len()) > most {
            return Err(unread(server));
        }
        all.extend_from_slice(&piece);
    }
    Ok(all)
}

fn unread(server: &Url) -> SignInFault {
    fault(
        format!("what `{}` publishes about signing in cannot be read", host(server)),
        "Try again later; if it stays so, only who runs it can mend that.",
    )
}

/// Whether this document of a resource is about another one than this server. What is no such document names none.
fn names_another(document: &[u8], server: &Url) -> bool {
    let Ok(Value::Object(fields)) = serde_json::from_slice::<Value>(document) else { return false };
    match fields.get("resource") {
        Some(Value::String(resource)) => !Url::parse(resource).is_ok_and(|resource| is_about(&resource, server)),
        Some(_) => true,
        None => false,
    }
}

/// Whether the resource is this server, or a place above it.
fn is_about(resource: &Url, server: &Url) -> bool {
    if resource.origin() != server.origin() || resource.fragment().is_some() {
        return false;
    }
    let rest = server.path().strip_prefix(resource.path());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || resource.path().ends_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn another(document: &str) -> bool {
        names_another(document.as_bytes(), &Url::parse("https://mcp.example/team/mcp").expect("a URL"))
    }

    #[test]
    fn a_document_about_another_server_is_told_from_one_about_this_server() {
        for resource in ["https://mcp.example/team/mcp", "https://mcp.example/team", "https://mcp.example/"] {
            assert!(!another(&format!(r#"{{"resource": "{resource}"}}"#)), "{resource}");
        }
        for resource in ["https://other.example/team/mcp", "http://mcp.example/team/mcp", "https://mcp.example/te", "x"]
        {
            assert!(another(&format!(r#"{{"resource": "{resource}"}}"#)), "{resource}");
        }
        assert!(another(r#"{"resource": 7}"#), "no name is not ours");
    }

    #[test]
    fn a_page_and_an_unrelated_object_are_no_documents() {
        for document in ["<h1>Welcome</h1>", "{}", r#"{"error": "not_found"}"#, "[]", ""] {
            assert!(!another(document), "{document}");
        }
    }

    #[test]
    fn documents_are_looked_for_where_the_library_looks() {
        let places =
            ["/.well-known/oauth-protected-resource/mcp", "/mcp/.well-known/oauth-protected-resource", WELL_KNOWN];
        assert_eq!(usual_places("/mcp/"), places);
        assert_eq!(usual_places("/"), [WELL_KNOWN]);
    }
}
