//! `sign_in`: asks a person to open a page of this server, and ends when its button is pressed.
//!
//! The page listens on a free loopback port under an unguessable path while the task lives. Opening it changes nothing,
//! and `accept` alone does not end the task; only the button does. No secret is involved.

use std::sync::Arc;

use crate::script_server::script::{Elicitation, ElicitationReply, ToolCard, ToolLength, ToolNeeds};
use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use mcp::server::rpc_error::{RequestError, RequestErrorKind};
use serde_json::json;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::schemas::schema;
use crate::tool_context::{ToolContext, ToolOutcome};

pub(super) fn card() -> ToolCard {
    ToolCard {
        name: "sign_in",
        title: "Sign in on a page",
        description: "Asks a person to open a page of this server on this machine and to press its button. Ends when \
                      the button was pressed. No password is asked for.",
        input_schema: schema(json!({}), &[]),
        output_schema: None,
        annotations: json!({
            "readOnlyHint": true, "destructiveHint": false, "idempotentHint": false, "openWorldHint": false,
        }),
        length: ToolLength::Long,
        needs: ToolNeeds::Visits,
    }
}

struct Page {
    host: String,
    code: String,
    done: CancellationToken,
}

pub(super) async fn run(context: ToolContext) -> ToolOutcome {
    let broken = |why: std::io::Error| {
        ToolOutcome::RpcError(RequestError::new(
            RequestErrorKind::Internal,
            format!("the sign-in page cannot be served: {why}"),
        ))
    };
    let listener = match TcpListener::bind(("127.0.0.1", 0)).await {
        Ok(listener) => listener,
        Err(why) => return broken(why),
    };
    let host = match listener.local_addr() {
        Ok(address) => address.to_string(),
        Err(why) => return broken(why),
    };
    let page = Arc::new(Page { host, code: format!("{:032x}", (context.draw)()), done: CancellationToken::new() });
    let url = format!("http://{}/sign-in/{}", page.host, page.code);
    let app = Router::new().route("/sign-in/{code}", get(show).post(press)).with_state(page.clone());
    // The page ends with this scope, and the scope with the tool, whichever way that ends.
    let scope = context.supervisor.scope();
    let _ends = scope.stopping().drop_guard();
    let (serving, closing) = (axum::serve(listener, app), scope.stopping());
    context.supervisor.spawn("sign-in page", async move {
        // A broken page shows as a page nobody could finish.
        drop(serving.with_graceful_shutdown(closing.cancelled_owned()).await);
    });
    wait(&context, &page, url).await
}

async fn wait(context: &ToolContext, page: &Page, url: String) -> ToolOutcome {
    context.say("asking to open the sign-in page");
    let message = "The demo server asks you to sign in. The page has one button and wants no password.";
    let limit = tokio::time::sleep(context.limits.sign_in_open);
    let mut limit = std::pin::pin!(limit);
    let reply = tokio::select! {
        reply = context.ask(Elicitation::Visit { message: message.to_owned(), url }) => reply,
        () = page.done.cancelled() => return signed_in(),
        () = &mut limit => return too_late(),
    };
    match reply {
        ElicitationReply::Accept(_) => {}
        ElicitationReply::Decline => {
            return ToolOutcome::Text("Nobody signed in: the person declined.".to_owned(), None);
        }
        ElicitationReply::Dismiss => {
            return ToolOutcome::Text("Nobody signed in: the person did not want to now.".to_owned(), None);
        }
    }
    context.say("waiting for the button on the sign-in page");
    tokio::select! {
        () = page.done.cancelled() => signed_in(),
        () = &mut limit => too_late(),
    }
}

fn signed_in() -> ToolOutcome {
    ToolOutcome::Text("Signed in: the button on the page was pressed.".to_owned(), None)
}

fn too_late() -> ToolOutcome {
    ToolOutcome::ToolError("Nobody signed in: the page was open long enough and its button was not pressed.".to_owned())
}

async fn show(State(page): State<Arc<Page>>, Path(code): Path<String>, headers: HeaderMap) -> Response {
    if !page.knows(&code, &headers) {
        return StatusCode::NOT_FOUND.into_response();
    }
    answer(
        "<h1>Sign in to the Taskwarden demo</h1><p>A task of the demo server waits for this. Nothing is sent anywhere \
         but to this machine.</p><form method=\"post\"><button autofocus>Sign in</button></form>",
    )
}

async fn press(State(page): State<Arc<Page>>, Path(code): Path<String>, headers: HeaderMap) -> Response {
    if !page.knows(&code, &headers) {
        return StatusCode::NOT_FOUND.into_response();
    }
    page.done.cancel();
    answer("<h1>Signed in</h1><p>The task goes on. You can close this page.</p>")
}

impl Page {
    /// Only the one who was given the link, on this machine, under our own name.
    fn knows(&self, code: &str, headers: &HeaderMap) -> bool {
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
        code == self.code && host == Some(self.host.as_str())
    }
}

fn answer(body: &str) -> Response {
    let page = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Taskwarden demo</title></head>\
         <body>{body}</body></html>"
    );
    let guard = [
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; form-action 'self'; frame-ancestors 'none'"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (guard, Html(page)).into_response()
}
