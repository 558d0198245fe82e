//! Tries the doors of agents from outside, for the check of an agent's connection, and keeps saved tokens current.
//!
//! Over HTTP it is refused for want of a token, in the words of our own listener: another program at that port would
//! answer otherwise. At the socket it makes the one call that everybody may make. It proves nothing about a token.

use std::time::Duration;

use api::{AgentDoors, TriedDoor};
use domain::policy::Policy;
use domain::ports::PortFuture;
use futures::FutureExt as _;
use reqwest::{StatusCode, header};
use tokio::time::{Instant, timeout};

use crate::agent_access::token_file;
use crate::app::socket_client::SocketClient;
use crate::config::paths::Paths;

/// The doors of one core.
pub(crate) struct OwnDoors {
    paths: Paths,
    policy: Policy,
    /// Where agents reach it over HTTP at this moment.
    url: Box<dyn Fn() -> Option<String> + Send + Sync>,
}

impl OwnDoors {
    pub(crate) fn new(paths: Paths, policy: Policy, url: impl Fn() -> Option<String> + Send + Sync + 'static) -> Self {
        Self { paths, policy, url: Box::new(url) }
    }

    /// Tries a door for as long as a check may take.
    async fn tried(&self, door: impl Future<Output = Result<(), String>> + Send) -> TriedDoor {
        let (began, limit) = (Instant::now(), self.policy.asking.door_limit);
        let why = match timeout(limit, door).await {
            Ok(answered) => answered.err(),
            Err(_) => Some(format!("It did not answer within {} s.", limit.as_secs())),
        };
        TriedDoor { took: began.elapsed(), why }
    }
}

impl AgentDoors for OwnDoors {
    fn try_http(&self) -> PortFuture<'_, Option<TriedDoor>> {
        async {
            let url = (self.url)()?;
            Some(self.tried(knock(url, self.policy.asking.door_limit)).await)
        }
        .boxed()
    }

    fn try_socket(&self) -> PortFuture<'_, TriedDoor> {
        let ping = async {
            let client = SocketClient::new(&self.paths, &self.policy).map_err(|error| error.message)?;
            client.call("core.ping", "{}".to_owned()).await.map(drop).map_err(|error| error.message)
        };
        self.tried(ping).boxed()
    }

    fn save_again(&self, agent: &str, token: &str) -> Option<String> {
        let path = self.paths.agent_token(agent);
        if !path.exists() {
            return None;
        }
        match token_file::save(&self.paths, agent, token) {
            Ok(path) => path.into_os_string().into_string().ok(),
            Err(error) => {
                tracing::warn!(agent.name = agent, %error, "the new token of an agent could not be saved");
                None
            }
        }
    }
}

/// Asks without a token, and expects to be refused by this program.
async fn knock(url: String, limit: Duration) -> Result<(), String> {
    let failed = |error: reqwest::Error| {
        if error.is_connect() { "Nothing listens there.".to_owned() } else { "The connection broke off.".to_owned() }
    };
    let client = reqwest::Client::builder().no_proxy().timeout(limit).build().map_err(failed)?;
    let asked = client.post(url).header(header::CONTENT_TYPE, "application/json").body("{}");
    let reply = asked.send().await.map_err(failed)?;
    let challenge = reply.headers().get(header::WWW_AUTHENTICATE).and_then(|value| value.to_str().ok());
    let is_ours = challenge.is_some_and(|challenge| challenge.contains("realm=\"taskwarden\""));
    if reply.status() == StatusCode::UNAUTHORIZED && is_ours {
        Ok(())
    } else {
        Err(format!("Another program answers there, with status {}.", reply.status().as_u16()))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    /// A listener that gives every connection this reply.
    async fn listener(reply: &'static str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let url = format!("http://{}/mcp", listener.local_addr().expect("it has an address"));
        engine::runtime::supervisor::Supervisor::new().spawn("a listener of a test", async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut asked = [0_u8; 1_024];
                let _ = stream.read(&mut asked).await;
                let _ = stream.write_all(reply.as_bytes()).await;
            }
        });
        url
    }

    #[tokio::test]
    async fn only_our_own_listener_counts_as_reached() {
        let limit = Duration::from_secs(10);
        let ours =
            "HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Bearer realm=\"taskwarden\"\r\ncontent-length: 0\r\n\r\n";
        assert_eq!(knock(listener(ours).await, limit).await, Ok(()));
        let other = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
        let said = knock(listener(other).await, limit).await.expect_err("another program is there");
        assert!(said.contains("Another program") && said.contains("200"), "{said}");
        let free = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let url = format!("http://{}/mcp", free.local_addr().expect("it has an address"));
        drop(free);
        assert_eq!(knock(url, limit).await, Err("Nothing listens there.".to_owned()));
    }
}
