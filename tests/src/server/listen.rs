//! `subscriptions/listen` of the recording server: acknowledgement first, then every change of the tasks asked for.

use std::convert::Infallible;

use axum::body::Body;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use futures::StreamExt;
use serde_json::{Value, json};
use tokio::sync::mpsc;

/// Messages that wait for one slow listener; a test that lets more pile up has lost its reader.
const WAITING: usize = 4_096;

/// One open subscription.
pub(super) struct Listener {
    subscription: Value,
    tasks: Vec<String>,
    out: mpsc::Sender<String>,
}

fn event(message: &Value) -> String {
    format!("data: {message}\n\n")
}

impl Listener {
    /// Opens a subscription; the response is its stream.
    pub(super) fn open(id: &Value, params: &Value) -> (Self, Response) {
        let tasks: Vec<String> = params
            .pointer("/notifications/taskIds")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|task| task.as_str().map(str::to_owned))
            .collect();
        let (out, inbox) = mpsc::channel(WAITING);
        let acknowledged = json!({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": {
            "notifications": {"taskIds": tasks}, "_meta": {"io.modelcontextprotocol/subscriptionId": id}}});
        let _ = out.try_send(event(&acknowledged));
        let stream = tokio_stream::wrappers::ReceiverStream::new(inbox).map(Ok::<_, Infallible>);
        let headers = [("content-type", "text/event-stream"), ("x-accel-buffering", "no")];
        let response = (StatusCode::OK, headers, Body::from_stream(stream)).into_response();
        (Self { subscription: id.clone(), tasks, out }, response)
    }

    /// Tells this listener about a task; `false` when it is gone.
    pub(super) fn tell(&self, id: &str, shown: &Value) -> bool {
        if !self.tasks.iter().any(|task| task == id) {
            return !self.out.is_closed();
        }
        let mut params = shown.clone();
        if let Some(params) = params.as_object_mut() {
            params.remove("resultType");
            params.insert("_meta".into(), json!({"io.modelcontextprotocol/subscriptionId": self.subscription}));
        }
        let message = json!({"jsonrpc": "2.0", "method": "notifications/tasks", "params": params});
        self.out.try_send(event(&message)).is_ok()
    }

    /// Whether it asked for this task.
    pub(super) fn covers(&self, id: &str) -> bool {
        self.tasks.iter().any(|task| task == id) && !self.out.is_closed()
    }
}
