//! `runaway`: works and reports until it is cancelled.
//!
//! Each second it counts primes among the next few thousand numbers: real work that needs almost no CPU.

use crate::script_server::script::{ToolCard, ToolLength, ToolNeeds};
use domain::tokens::grouped;
use serde_json::json;

use super::schemas::{reads_only, schema};
use crate::tool_context::{ToolContext, ToolOutcome};

/// Numbers looked at in one tick. Judgement: well under a millisecond.
const NUMBERS_PER_TICK: u64 = 2_000;

pub(super) fn card() -> ToolCard {
    ToolCard {
        name: "runaway",
        title: "Run away",
        description: "Counts primes for ever, a few thousand numbers a second, and reports each step. It never ends \
                      by itself: cancel it.",
        input_schema: schema(json!({}), &[]),
        output_schema: None,
        annotations: reads_only(),
        length: ToolLength::Endless,
        needs: ToolNeeds::Nobody,
    }
}

pub(super) async fn run(context: ToolContext) -> ToolOutcome {
    let (mut tick, mut primes) = (0_u64, 0_u64);
    loop {
        let from = tick * NUMBERS_PER_TICK;
        primes += (from..from + NUMBERS_PER_TICK).filter(|number| is_prime(*number)).count() as u64;
        tick += 1;
        let line =
            format!("tick {}: {} primes below {}", grouped(tick), grouped(primes), grouped(from + NUMBERS_PER_TICK));
        context.report(line, tick, None);
        tokio::time::sleep(context.limits.tick).await;
    }
}

fn is_prime(number: u64) -> bool {
    number >= 2 && (2..).take_while(|factor| factor * factor <= number).all(|factor| !number.is_multiple_of(factor))
}

#[cfg(test)]
mod tests {
    use super::is_prime;

    #[test]
    fn primes_are_counted_truly() {
        assert_eq!((0..10_000).filter(|number| is_prime(*number)).count(), 1_229, "the known count below 10,000");
    }
}
