//! The table of control calls, and how one is made.
//!
//! To add a call, add a line: its name and its ability are those of a call in `dispatch.rs`, which a test compares. What a
//! call gives is in its types; which of them a token opens follows from its scopes (`caller.rs`).

use schemars::JsonSchema;
use serde::Serialize;

use super::alarms::ControlAlarmList;
use super::body::read;
use super::caller::ControlCaller;
use super::halts::ControlHaltShown;
use super::pauses::{ControlPause, ControlPauseList};
use super::plans::ControlMakePlan;
use super::tasks::{
    ControlCancel, ControlOutcomes, ControlRevoke, ControlTask, ControlTaskList, ListControlTasks, OneControlTask,
};
use crate::api::Api;
use crate::caller::Ability;
use crate::calls::Nothing;
use crate::calls::halts::StartHalts;
use crate::calls::pauses::PauseInput;
use crate::calls::plans::{RunPlanInput, ShowPlan};
use crate::dto::plan::{OperationBegun, PlanMade, PlanShown};
use crate::error::{ApiError, Code};
use crate::lookup::short;

/// One line of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ControlEntry {
    pub name: &'static str,
    pub ability: Ability,
    /// Whether it may end or halt work.
    pub acts: bool,
    /// What it does, for the document.
    pub about: &'static str,
}

/// Something that is told of every control call: its line and its types.
pub(crate) trait ControlVisitor {
    fn call<I: JsonSchema, O: JsonSchema>(&mut self, entry: &'static ControlEntry);
}

macro_rules! control_calls {
    ($($name:literal $kind:ident $ability:ident $method:ident: $input:ty => $output:ty, $about:literal;)*) => {
        /// Every call that a control token may open.
        pub const CONTROL_CALLS: &[ControlEntry] = &[$(
            ControlEntry { name: $name, ability: Ability::$ability, acts: control_calls!(@$kind), about: $about }
        ),*];

        /// Tells of every call, in the order of the table.
        pub(crate) fn each_control_call(visitor: &mut impl ControlVisitor) {
            let mut entries = CONTROL_CALLS.iter();
            $(if let Some(entry) = entries.next() { visitor.call::<$input, $output>(entry); })*
        }

        impl Api {
            /// Makes the control call of this name.
            pub(super) async fn control_dispatch(
                &self,
                caller: &ControlCaller,
                name: &str,
                input: &str,
            ) -> Result<String, ApiError> {
                match name {
                    $($name if caller.may(Ability::$ability) => {
                        let input: $input = read(input)?;
                        let output: $output = Box::pin(self.$method(caller, input)).await?;
                        written(&output)
                    })*
                    unknown => Err(no_such_call(unknown)),
                }
            }
        }
    };
    (@reads) => { false };
    (@acts) => { true };
}

control_calls! {
    "tasks.list" reads Read control_tasks: ListControlTasks => ControlTaskList,
        "A page of tasks, the newest first.";
    "tasks.show" reads Read control_task_show: OneControlTask => ControlTask,
        "One task.";
    "tasks.cancel" acts Cancel control_cancel: ControlCancel => ControlOutcomes,
        "Asks servers to cancel tasks, and waits until each said something.";
    "tasks.revoke" acts Revoke control_revoke: ControlRevoke => ControlOutcomes,
        "Takes tasks from their agents and asks their servers to cancel them.";
    "plans.make" acts Cancel control_plan_make: ControlMakePlan => PlanMade,
        "Fixes which open tasks are ended. Nothing is asked yet.";
    "plans.run" acts Cancel control_plan_run: RunPlanInput => OperationBegun,
        "Asks each task of a plan to end, once.";
    "plans.show" reads Read control_plan_show: ShowPlan => PlanShown,
        "What became of the tasks of a plan of this token.";
    "halts.start" acts Halt control_halt: StartHalts => ControlHaltShown,
        "Halts work. Only a person lets it begin again.";
    "halts.show" reads Read control_halt_show: Nothing => ControlHaltShown,
        "The halt in force, when this token began it or widened it.";
    "pauses.start" acts Pause control_pause: PauseInput => ControlPause,
        "Lets new calls of an agent wait, or freezes the processes of a local server. Only a person ends it.";
    "pauses.list" reads Read control_pause_list: Nothing => ControlPauseList,
        "The pauses in force that this token began.";
    "alarms.list" reads Read control_alarm_list: Nothing => ControlAlarmList,
        "Alarms about agents that do the same again and again, in reach. Only a person decides about calls that wait.";
}

/// The same for a name that nobody knows and for a call that the token does not open.
pub(super) fn no_such_call(name: &str) -> ApiError {
    ApiError::new(
        Code::NotFound,
        format!("there is no call `{}` for this control token", short(name)),
        "A person decides with the scopes of a token which calls it opens; GET /api/v1/openapi.json lists all of them.",
    )
}

fn written<T: Serialize>(output: &T) -> Result<String, ApiError> {
    serde_json::to_string(output).map_err(|error| ApiError::unwritable(&error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dispatch::CALLS;

    #[test]
    fn each_control_call_is_a_call_of_people_with_the_same_ability() {
        for control in CONTROL_CALLS {
            let known = CALLS.iter().find(|call| call.name == control.name);
            let known = known.unwrap_or_else(|| panic!("`{}` is a call of people", control.name));
            assert_eq!((known.ability, known.acts), (control.ability, control.acts), "`{}`", control.name);
        }
    }

    #[test]
    fn no_control_call_lets_anything_begin_again() {
        let safe = [Ability::Read, Ability::Cancel, Ability::Revoke, Ability::Halt, Ability::Pause];
        for control in CONTROL_CALLS {
            assert!(safe.contains(&control.ability), "`{}` only makes things safer", control.name);
        }
    }
}
