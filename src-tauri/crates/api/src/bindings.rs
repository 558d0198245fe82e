//! The types of calls and frames as TypeScript, for the window (`cargo xtask bindings`).
//!
//! Generated from the table that dispatches calls and the types that are serialised, so that names and shapes cannot drift.
//! It is in tests only: they compare the text with what is checked in and, run with `BLESS=1`, write it anew.

use std::any::TypeId;
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::path::Path;

use domain::audit::Verb;
use domain::raw_message::Direction;
use domain::task::Origin;
use domain::task::status::{CancelState, Phase, PhaseGroup};
use ts_rs::{Config, TS, TypeVisitor};

use crate::dispatch::{CallVisitor, each_call};
use crate::error::ApiError;
use crate::feed::frame::{FeedFrame, SubscribeInput};

const HEAD: &str = "/* Generated from the Rust api by `cargo xtask bindings`. Do not edit.
   Times are ISO 8601 in UTC with milliseconds; durations end in Ms; large numbers are `number`. */
";

/// The whole of `ui/src/lib/bindings/index.ts`.
fn typescript() -> String {
    let mut gathered = Gathered { config: Config::new().with_large_int("number"), ..Gathered::default() };
    gathered.visit::<ApiError>();
    gathered.visit::<SubscribeInput>();
    gathered.visit::<FeedFrame>();
    each_call(&mut gathered);
    let mut text = String::from(HEAD);
    let words = |words: Vec<&str>| words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" | ");
    let phases = words(Phase::ALL.iter().map(|phase| phase.word()).collect());
    let groups = words(PhaseGroup::ALL.iter().map(|group| group.word()).collect());
    // Writing to a text never fails.
    let _ = writeln!(text, "\n/** The one word for a task. */\nexport type Phase = {phases};");
    let _ = writeln!(text, "\n/** Who has to act, in the order of the list. */\nexport type PhaseGroup = {groups};");
    let verbs = words(Verb::ALL.iter().map(|verb| verb.word()).collect());
    let _ = writeln!(text, "\n/** What was done: the words of the audit log. */\nexport type AuditVerb = {verbs};");
    for declared in gathered.declared.values() {
        let _ = write!(text, "\n{declared}");
    }
    let _ = writeln!(text, "\n/** Every call: its input and its output. */\nexport interface Calls {{");
    for line in &gathered.calls {
        let _ = writeln!(text, "  {line}");
    }
    text.push_str("}\n");
    compact(&text)
}

/// Comments of one line on one line, and no space at the ends of lines.
fn compact(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut lines = text.lines().map(str::trim_end).peekable();
    while let Some(line) = lines.next() {
        match (line, lines.peek().and_then(|next| next.strip_prefix(" * "))) {
            ("/**", Some(only)) => {
                let only = only.to_owned();
                lines.next();
                if lines.next_if_eq(&" */").is_some() {
                    let _ = writeln!(out, "/** {only} */");
                } else {
                    let _ = writeln!(out, "/**\n * {only}");
                }
            }
            _ => {
                let _ = writeln!(out, "{line}");
            }
        }
    }
    out
}

#[derive(Default)]
struct Gathered {
    config: Config,
    seen: HashSet<TypeId>,
    declared: BTreeMap<String, String>,
    calls: Vec<String>,
}

impl TypeVisitor for Gathered {
    fn visit<T: TS + 'static + ?Sized>(&mut self) {
        // Types without a file of their own are those of the language.
        if !self.seen.insert(TypeId::of::<T>()) {
            return;
        }
        T::visit_generics(self);
        T::visit_dependencies(self);
        if T::output_path().is_some() {
            let docs = T::docs().unwrap_or_default();
            self.declared.insert(T::ident(&self.config), format!("{docs}export {}\n", T::decl(&self.config)));
        }
    }
}

impl CallVisitor for Gathered {
    fn call<I: TS + 'static, O: TS + 'static>(&mut self, name: &'static str) {
        self.visit::<I>();
        self.visit::<O>();
        let line = format!("\"{name}\": [{}, {}];", I::name(&self.config), O::name(&self.config));
        self.calls.push(line);
    }
}

#[test]
fn the_types_of_the_window_are_those_of_this_core() {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../ui/src/lib/bindings/index.ts");
    let text = typescript();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&place, &text).expect("the window's types can be written");
    }
    let kept = std::fs::read_to_string(&place).expect("the window's types are checked in");
    let first_other = text.lines().zip(kept.lines()).position(|(ours, theirs)| ours != theirs);
    assert_eq!(first_other, None, "run `cargo xtask bindings` and commit `ui/src/lib/bindings`: first other line");
    assert_eq!(text.len(), kept.len(), "run `cargo xtask bindings`");
}

#[test]
fn words_that_the_window_switches_on_are_those_of_the_domain() {
    let union = |words: &[&str]| words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" | ");
    let text = typescript();
    let stops = [
        CancelState::Asked,
        CancelState::Acknowledged,
        CancelState::Stopped,
        CancelState::EndedHere,
        CancelState::FinishedAnyway,
        CancelState::Refused,
    ];
    let origins = [Origin::Started, Origin::Agent, Origin::Discovered, Origin::Adopted];
    for words in [
        union(&stops.map(CancelState::word)),
        union(&origins.map(Origin::word)),
        union(&[Direction::FromServer.word(), Direction::ToServer.word()]),
        union(&Phase::ALL.map(Phase::word)),
        union(&PhaseGroup::ALL.map(PhaseGroup::word)),
    ] {
        assert!(text.contains(&words), "{words} stands in the types of the window");
    }
}

#[test]
fn the_window_shows_each_phase_by_the_label_that_the_command_line_takes() {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../ui/src/lib/text/task.ts");
    let text = std::fs::read_to_string(&place).expect("the window's text is there");
    for phase in Phase::ALL {
        let line = format!("  {}: \"{}\",\n", phase.word(), phase.label());
        assert!(text.contains(&line), "`{}` is not `{}` in `ui/src/lib/text/task.ts`", phase.word(), phase.label());
    }
}
