//! The [`McpLink`] of an HTTP server, in both eras.
//!
//! A request is cancelled by closing its stream in the modern era, and by `notifications/cancelled` in the older ones,
//! where a closed stream is no cancel. A network failure breaks one request; only a lost session or `close` ends the
//! link.

use std::sync::Arc;

use domain::ports::PortFuture;
use http::Method;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::upstream::transport::http::connection::{AnswerForm, HttpAnswer, HttpConnection, OnStream};
use crate::upstream::transport::line_connection::{cancelled, not_pending, respond_bytes, unwritable};
use crate::upstream::transport::link::{
    Answer, LinkError, McpLink, NotificationListener, OutgoingRequest, RequestTag, Response, SharedAnswer,
};
use crate::upstream::transport::request_params::OutgoingParams;
use crate::wire::message;

/// A link over HTTP. Dropping it ends its streams.
pub(crate) struct HttpLink(pub(crate) Arc<HttpConnection>);

impl HttpLink {
    async fn ask(&self, request: OutgoingRequest, form: AnswerForm) -> Result<HttpAnswer, LinkError> {
        let wire = &self.0;
        let params = OutgoingParams::of_call(&request, wire.version(), &wire.kept_meta);
        let headers = wire.headers_for(&request.method, &params, &request.param_headers);
        let OutgoingRequest { method, tag, limit, agent_params, permit, .. } = request;
        let call = wire.call(&method, &params, headers, OnStream { tag, form }, permit);
        tokio::pin!(call);
        // In the modern era the stream that closes tells the server.
        let cancels = !wire.is_modern() && agent_params.is_some_and(|agent_params| agent_params.cancel_on_drop);
        let mut given_up = GivenUp { link: cancels.then_some(self), tag };
        let answer = match limit {
            None => Some(call.as_mut().await),
            Some(limit) => tokio::select! {
                biased;
                answer = &mut call => Some(answer),
                () = tokio::time::sleep(limit) => {
                    self.abandon(tag, LinkError::NoAnswer(limit));
                    None
                }
            },
        };
        given_up.link = None;
        match answer {
            Some(answer) => Ok(answer?.1),
            None => Err(LinkError::NoAnswer(limit.unwrap_or_default())),
        }
    }

    /// Gives a request up; the modern server notices that its stream closes.
    fn abandon(&self, tag: RequestTag, why: LinkError) {
        let wire = &self.0;
        let given_up = wire.pending.give_up(tag, why);
        let Some(bytes) = given_up.filter(|_| !wire.is_modern()).and_then(|id| cancelled(id, None)) else { return };
        let told = wire.clone();
        wire.supervisor.spawn("http cancel", async move {
            let _ = told.tell(bytes, told.legacy_headers()).await;
        });
    }
}

/// A request whose future may be dropped; cancelled then.
struct GivenUp<'a> {
    link: Option<&'a HttpLink>,
    tag: RequestTag,
}

impl Drop for GivenUp<'_> {
    fn drop(&mut self) {
        if let Some(link) = self.link {
            link.abandon(self.tag, LinkError::GivenUp);
        }
    }
}

impl McpLink for HttpLink {
    fn request(&self, request: OutgoingRequest) -> PortFuture<'_, Result<Answer, LinkError>> {
        Box::pin(async move { self.ask(request, AnswerForm::Owned).await?.owned() })
    }

    fn call(&self, request: OutgoingRequest) -> PortFuture<'_, Result<SharedAnswer, LinkError>> {
        Box::pin(async move { Ok(self.ask(request, AnswerForm::Shared).await?.shared()) })
    }

    fn notify<'a>(&'a self, method: &'a str, params: Option<&'a RawValue>) -> PortFuture<'a, Result<(), LinkError>> {
        Box::pin(async move {
            let wire = &self.0;
            let bytes = message::notification(method, params).map_err(|_| unwritable())?;
            wire.tell(bytes, wire.headers_for(method, &OutgoingParams::plain(Value::Null, Vec::new()), &[])).await
        })
    }

    fn respond<'a>(&'a self, token: &'a str, response: Response) -> PortFuture<'a, Result<(), LinkError>> {
        Box::pin(async move {
            let wire = &self.0;
            let Some(id) = wire.asked.take(token) else { return Err(not_pending()) };
            let told = wire.tell(respond_bytes(&id, &response)?, wire.legacy_headers()).await;
            if told.is_err() && !wire.over.is_over() {
                // The server may not have it: the question stays open on this link.
                wire.asked.put_back(token, id);
            }
            told
        })
    }

    fn cancel(&self, tag: RequestTag, reason: Option<String>) -> PortFuture<'_, Result<(), LinkError>> {
        Box::pin(async move {
            let wire = &self.0;
            let Some(id) = wire.pending.give_up(tag, LinkError::GivenUp) else { return Ok(()) };
            if wire.is_modern() {
                return Ok(());
            }
            let bytes = cancelled(id, reason).ok_or_else(unwritable)?;
            wire.tell(bytes, wire.legacy_headers()).await
        })
    }

    fn set_notification_listener(&self, listener: Arc<dyn NotificationListener>) -> bool {
        self.0.listener.set(listener).is_ok()
    }

    fn stderr_tail(&self) -> String {
        String::new()
    }

    fn close(&self, tasks_live: bool) -> PortFuture<'_, ()> {
        Box::pin(async move {
            let wire = &self.0;
            if !tasks_live && wire.has_session() && !wire.over.is_over() {
                let delete = wire.endpoint.send(Method::DELETE, wire.legacy_headers(), None);
                // A server need not offer it, and need not answer.
                let _ = tokio::time::timeout(wire.policy.child_close_wait, delete).await;
            }
            self.end();
        })
    }
}

impl HttpLink {
    fn end(&self) {
        self.0.end("the connection was closed by Taskwarden", "It is opened again with the next connection.");
    }
}

impl Drop for HttpLink {
    fn drop(&mut self) {
        self.end();
    }
}
