//! The text of a preview: in place of a result or an error that is held or comes in pages.
//!
//! The server's lines are framed by sentences that say where they begin and end. How much of them is shown is
//! decided in `results/preview.rs` and `results/error_preview.rs`.

use domain::task::HoldReason;
use domain::tokens::{are_free, grouped, token_count};

/// A result of which its agent gets the beginning and a way to the rest.
pub(in crate::gateway) struct ShortResult<'a> {
    /// Why it is held.
    pub(in crate::gateway) why: HoldReason,
    /// Its size, with its unit.
    pub(in crate::gateway) size: &'a str,
    /// How its text begins.
    pub(in crate::gateway) begins: &'a str,
    /// Whether that is all of its text.
    pub(in crate::gateway) is_all: bool,
    /// How the rest is read.
    pub(in crate::gateway) way: &'a str,
    /// Tokens of one slice at most.
    pub(in crate::gateway) slice: u64,
    /// Kinds of content that are not in its text, such as pictures.
    pub(in crate::gateway) unseen: &'a str,
    /// A limit decided by itself, and no person was asked.
    pub(in crate::gateway) is_by_limit: bool,
}

impl ShortResult<'_> {
    /// The text in place of the result.
    pub(in crate::gateway) fn words(&self) -> String {
        let Self { size, begins, way, unseen, .. } = self;
        let why = match self.why {
            HoldReason::TooLarge { limit, .. } => {
                format!("{size}, more than the {} that are allowed here.", grouped(limit))
            }
            HoldReason::DoesNotFit { free, .. } => {
                format!("{size}, and {} for it in your window.", are_free(free))
            }
            HoldReason::WouldBeCut { shown, program, .. } => {
                format!(
                    "{size}, above the {} that {} surely shows its model of one result.",
                    grouped(shown),
                    program.label
                )
            }
            HoldReason::Review => format!("{size}, and a person decided that you read it in slices."),
        };
        let read = format!("Read it with {way}, in slices of up to {}.", token_count(self.slice));
        let shown = match (self.is_all, begins.is_empty()) {
            (true, true) => "It has no text to show.".to_owned(),
            (true, false) => format!("Its text is:\n\n{begins}"),
            (false, true) => read,
            (false, false) => format!("It begins with:\n\n{begins}\n\n[… it goes on. {read}]"),
        };
        let unseen = match (unseen.is_empty(), self.is_by_limit) {
            (true, _) => String::new(),
            (false, true) => format!(
                "\n\n[Not in its text: {unseen}. Nobody was asked for that; a person can let the whole come, in Taskwarden.]"
            ),
            (false, false) => {
                format!("\n\n[Not in its text: {unseen}. A person decided that it comes in slices.]")
            }
        };
        format!("This result has {why} {shown}{unseen}")
    }
}

/// An error that is cut: how it begins, and that a person has the rest.
pub(in crate::gateway) fn short_error(begins: &str, size: &str, why: HoldReason, task: &str) -> String {
    let allowed = match why {
        HoldReason::TooLarge { limit, .. } => format!(", more than the {} that are allowed here", grouped(limit)),
        HoldReason::DoesNotFit { free, .. } => format!(", and {} for it", are_free(free)),
        HoldReason::WouldBeCut { shown, program, .. } => {
            format!(", above the {} that {} surely shows its model", grouped(shown), program.label)
        }
        HoldReason::Review => String::new(),
    };
    format!(
        "{begins}\n\n[… This error has {size}{allowed}. A person can read all of it in Taskwarden, with task {task}.]"
    )
}

/// A result that waits for a person. `size` has its unit.
pub(in crate::gateway) fn waits(why: HoldReason, size: &str) -> String {
    let why = match why {
        HoldReason::Review => "a person looks at it first".to_owned(),
        HoldReason::TooLarge { limit, .. } => {
            format!("it has {size}, more than the {} that are allowed, and a person decides", grouped(limit))
        }
        HoldReason::DoesNotFit { free, .. } => {
            format!("it has {size}, {} for it, and a person decides", are_free(free))
        }
        HoldReason::WouldBeCut { shown, program, .. } => format!(
            "it has {size}, above the {} that {} surely shows its model, and a person decides",
            grouped(shown),
            program.label
        ),
    };
    format!("The work is done, but its result is held back: {why}.")
}
