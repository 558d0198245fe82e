//! The `Link` of an HTTP server, in both eras.
//!
//! Giving up means closing the stream in the modern era and a `notifications/cancelled` in the older ones, where a
//! closed stream is no cancel. It keeps no connection of its own: what breaks breaks one request, and only a lost
//! session or `close` ends the link.

use std::sync::Arc;
use std::time::Duration;

use domain::ports::PortFuture;
use http::Method;
use serde_json::Value;

use super::wire::{Speech, Wire};
use crate::link::{Answer, Link, LinkError, Outgoing, Response, Tag};
use crate::message;
use crate::transport::duplex::{cancelled, given_up, not_pending, respond_bytes, unwritable};
use crate::transport::params::Params;

/// A link over HTTP. Dropping it ends its streams.
pub(super) struct HttpLink(pub(super) Arc<Wire>);

impl HttpLink {
    async fn ask(&self, request: Outgoing) -> Result<Answer, LinkError> {
        let wire = &self.0;
        let Outgoing { method, params, verbatim, tag, limit, param_headers } = request;
        let params = match wire.speech.get() {
            Some(Speech::Modern(version)) => Params::stamped(params, verbatim, version),
            Some(Speech::Legacy { .. }) | None => Params::plain(params, verbatim),
        };
        let headers = wire.headers_for(method, &params, &param_headers);
        let call = wire.call(method, &params, headers, tag);
        let Some(limit) = limit else { return Ok(call.await?.1) };
        tokio::pin!(call);
        tokio::select! {
            biased;
            answer = &mut call => Ok(answer?.1),
            () = tokio::time::sleep(limit) => {
                self.abandon(tag, limit);
                Err(LinkError::NoAnswer(limit))
            }
        }
    }

    /// Gives up after the limit; the modern server notices that its stream closes.
    fn abandon(&self, tag: Tag, limit: Duration) {
        let wire = &self.0;
        let given_up = wire.board.give_up(tag, LinkError::NoAnswer(limit));
        let Some(bytes) = given_up.filter(|_| !wire.is_modern()).and_then(|id| cancelled(id, None)) else { return };
        let told = wire.clone();
        wire.supervisor.spawn("http cancel", async move {
            let _ = told.tell(bytes, told.legacy_headers()).await;
        });
    }
}

impl Link for HttpLink {
    fn request(&self, request: Outgoing) -> PortFuture<'_, Result<Answer, LinkError>> {
        Box::pin(self.ask(request))
    }

    fn notify(&self, method: &'static str, params: Value) -> PortFuture<'_, Result<(), LinkError>> {
        Box::pin(async move {
            let wire = &self.0;
            let params = (!params.is_null()).then_some(params);
            let bytes = message::notification(method, params.as_ref()).map_err(|_| unwritable())?;
            let params = Params::plain(params.unwrap_or_default(), Vec::new());
            wire.tell(bytes, wire.headers_for(method, &params, &[])).await
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

    fn cancel(&self, tag: Tag, reason: Option<String>) -> PortFuture<'_, Result<(), LinkError>> {
        Box::pin(async move {
            let wire = &self.0;
            let Some(id) = wire.board.give_up(tag, given_up()) else { return Ok(()) };
            if wire.is_modern() {
                return Ok(());
            }
            let bytes = cancelled(id, reason).ok_or_else(unwritable)?;
            wire.tell(bytes, wire.legacy_headers()).await
        })
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
