//! A call that its server refuses for want of a sign-in, and what else the server is asked.

use std::sync::Arc;
use std::time::Duration;

use domain::ids::ServerId;
use domain::ports::{
    CallError, PortFuture, Revocation, SecretError, ServerSignIns, SignInBegun, SignInFault, SignInWish, TokenFacts,
    UpstreamError,
};
use domain::server::Server;
use domain::task::status::Phase;
use testkit::scripted::{PollReply, ScriptedServer};

use crate::world::World;

const SECOND: Duration = Duration::from_secs(1);

/// Somebody has to sign in, says what keeps the token; nobody does in these stories.
struct SignInIsNeeded;

fn nobody() -> SignInFault {
    SignInFault { why: "nobody signs in here".into(), hint: "Sign in.".into() }
}

impl ServerSignIns for SignInIsNeeded {
    fn begin<'a>(&'a self, _: &'a Server, _: SignInWish) -> PortFuture<'a, Result<SignInBegun, SignInFault>> {
        Box::pin(async { Err(nobody()) })
    }

    fn finish<'a>(&'a self, _: ServerId, _: &'a str) -> PortFuture<'a, Result<(), SignInFault>> {
        Box::pin(async { Err(nobody()) })
    }

    fn give_up(&self, _: ServerId) {}

    fn sign_out<'a>(&'a self, _: &'a Server) -> PortFuture<'a, Result<Revocation, SecretError>> {
        Box::pin(async { Ok(Revocation::Nothing) })
    }

    fn facts(&self, _: &Server) -> TokenFacts {
        TokenFacts { needed: Some(nobody()), ..TokenFacts::default() }
    }
}

fn refused() -> UpstreamError {
    UpstreamError::Unauthorized { why: "it does not accept the token any more".into(), hint: "Sign in.".into() }
}

/// A task at work, whose next poll is far away, on a server that refuses the call of another tool.
async fn with_refused_call() -> (World, ScriptedServer, ServerId, domain::ids::HandleId) {
    let (world, server, id) = World::new().await;
    world.engine.keep_sign_ins(Arc::new(SignInIsNeeded)).await.expect("it is kept");
    server.reply_task("work", "t1", vec![PollReply::working()]);
    let task = world.call(id, "work").await;
    world.pass(300 * SECOND).await;
    server.reply("closed", Duration::ZERO, Err(CallError::NotSent(refused())));
    (world, server, id, task)
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_refuses_a_token_that_the_server_accepts_of_others_stops_nothing_else() {
    let (world, _server, id, task) = with_refused_call().await;
    let refused = world.call(id, "closed").await;
    let ended = world.until_phase(refused, Phase::Failed).await;
    assert!(ended.view.is_sign_in_refused(), "it was sent, and says what the server did: {:?}", ended.view);
    world.pass(5 * SECOND).await;
    assert_eq!(world.engine.health(id).word(), "up");
    assert_eq!(world.phase(task).await, Phase::Running, "the other task goes on");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_all_requests_waits_for_a_person_at_once() {
    let (world, server, id, task) = with_refused_call().await;
    server.fail_reads([refused()]);
    let call = world.call(id, "closed").await;
    world.until_phase(call, Phase::Failed).await;
    world.pass(5 * SECOND).await;
    assert_eq!(world.engine.health(id).word(), "blocked", "a poll of the other task found out");
    assert_eq!(world.phase(task).await, Phase::Blocked);
}
