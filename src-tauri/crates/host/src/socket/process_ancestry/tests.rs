//! Trees of processes in a folder that looks like `/proc`, and what they prove.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use super::*;

const CORE: u32 = 900;
const PERSON: u32 = 1_000;

/// A system with a core of a normal user.
struct System {
    root: tempfile::TempDir,
}

/// One process of it. What is not said is ordinary.
#[derive(Clone, Copy)]
struct Made {
    pid: u32,
    parent: u32,
    session: u32,
    uid: u32,
    program: &'static str,
    command: &'static [&'static str],
    unit: &'static str,
}

impl Default for Made {
    fn default() -> Self {
        let (program, unit) = ("/usr/bin/program", "/user.slice/session-2.scope");
        Self { pid: 0, parent: 0, session: 2, uid: PERSON, program, command: &["program"], unit }
    }
}

impl System {
    /// The first process, a login (50) with its shell (60), and a core that was started there.
    fn new() -> Self {
        let system = Self { root: tempfile::tempdir().expect("a folder") };
        fs::write(system.root.path().join("shells"), "# shells\n/bin/bash\n").expect("shells");
        system.add(Made { pid: 1, session: 1, uid: 0, unit: "/init.scope", ..Made::default() });
        system.add(Made { pid: 50, parent: 1, session: 50, uid: 0, ..Made::default() });
        system.shell(60, 50, &["-bash"]);
        system.add(Made { pid: CORE, parent: 60, session: 60, ..Made::default() });
        system
    }

    /// Processes are as old as their numbers.
    fn add(&self, made: Made) {
        let Made { pid, parent, session, uid, program, command, unit } = made;
        let place = self.root.path().join("proc").join(pid.to_string());
        fs::create_dir_all(&place).expect("a process");
        let mut stat = format!("{pid} (a) b) S {parent} {pid} {session}");
        for _ in 0..15 {
            stat.push_str(" 0");
        }
        let _ = write!(stat, " {} 0 0", u64::from(pid) * 100);
        fs::write(place.join("stat"), stat).expect("its facts");
        fs::write(place.join("status"), format!("Uid:\t{uid}\t{uid}\t{uid}\t{uid}\nNSpid:\t{pid}\n"))
            .expect("its users");
        fs::write(place.join("cgroup"), format!("0::{unit}\n")).expect("its group");
        fs::write(place.join("cmdline"), command.join("\0")).expect("its command");
        let _ = fs::remove_file(place.join("exe"));
        std::os::unix::fs::symlink(program, place.join("exe")).expect("its program");
        let members = self.root.path().join("cgroup").join(unit.trim_start_matches('/'));
        fs::create_dir_all(&members).expect("a group");
        let mut listed = fs::read_to_string(members.join("cgroup.procs")).unwrap_or_default();
        let _ = writeln!(listed, "{pid}");
        fs::write(members.join("cgroup.procs"), listed).expect("its members");
    }

    /// What the kernel prints of the limit that marks what servers start.
    fn limit_queues(&self, pid: u32, bytes: u64) {
        let text = format!(
            "Limit                     Soft Limit           Hard Limit           Units     \n\
             Max pending signals       95998                95998                signals   \n\
             Max msgqueue size         {bytes:<20} {bytes:<20} bytes     \n"
        );
        fs::write(self.root.path().join("proc").join(pid.to_string()).join("limits"), text).expect("its limits");
    }

    /// A shell that leads its session.
    fn shell(&self, pid: u32, parent: u32, command: &'static [&'static str]) {
        self.add(Made { pid, parent, session: pid, program: "/bin/bash", command, ..Made::default() });
    }

    fn child(&self, pid: u32, parent: u32) {
        self.add(Made { pid, parent, ..Made::default() });
    }

    fn path(&self) -> &Path {
        self.root.path()
    }

    fn ancestry(&self, is_strict: bool) -> Ancestry {
        Ancestry::new(ProcessTable::in_folder(self.path()), CORE, 100, is_strict)
    }
}

fn id(pid: u32) -> ProcessId {
    ProcessId { pid, started: u64::from(pid) * 100 }
}

#[test]
fn a_command_in_a_shell_of_a_login_is_a_persons() {
    let system = System::new();
    system.child(1_001, 60);
    assert_eq!(system.ancestry(true).standing(id(1_001)), PeerStanding::Person);
}

#[test]
fn what_a_server_started_is_below_the_core_also_when_its_parent_is_gone() {
    let system = System::new();
    system.child(1_001, CORE);
    system.child(1_002, 1_001);
    // The core adopts what its servers leave behind.
    system.child(1_003, CORE);
    let ancestry = system.ancestry(false);
    assert_eq!(ancestry.standing(id(1_002)), PeerStanding::Descendant);
    assert_eq!(ancestry.standing(id(1_003)), PeerStanding::Descendant);
}

#[test]
fn an_orphan_proves_nothing_in_whatever_session_it_is() {
    let system = System::new();
    let ancestry = system.ancestry(false);
    system.add(Made { pid: 1_001, parent: 1, session: 60, ..Made::default() });
    assert_eq!(
        ancestry.standing(id(1_001)),
        PeerStanding::Unproven(AncestryGap::Orphan(1_001)),
        "of the person's own session"
    );
    system.add(Made { pid: 1_002, parent: 1, session: 1_002, ..Made::default() });
    system.shell(1_003, 1_002, &["bash"]);
    system.child(1_004, 1_003);
    let why = "with a session, a terminal and a shell of its own, as a multiplexer has";
    assert_eq!(ancestry.standing(id(1_004)), PeerStanding::Unproven(AncestryGap::Orphan(1_002)), "{why}");
}

#[test]
fn a_process_that_ended_or_whose_number_is_used_again_proves_nothing() {
    let system = System::new();
    system.child(1_001, 60);
    let ancestry = system.ancestry(false);
    assert_eq!(ancestry.standing(id(1_002)), PeerStanding::Unproven(AncestryGap::Gone));
    let earlier = ProcessId { pid: 1_001, started: 7 };
    assert_eq!(ancestry.standing(earlier), PeerStanding::Unproven(AncestryGap::Gone), "another one has the number now");
    system.child(1_005, 1_006);
    assert_eq!(
        ancestry.standing(id(1_005)),
        PeerStanding::Unproven(AncestryGap::Unreadable(1_006)),
        "its parent may not be seen"
    );
    system.child(1_006, 60);
    let why = "a parent that is younger than its child is none";
    assert_eq!(ancestry.standing(id(1_005)), PeerStanding::Unproven(AncestryGap::Unreadable(1_006)), "{why}");
}

#[test]
fn a_process_of_a_container_proves_nothing() {
    let system = System::new();
    system.child(1_001, 60);
    let status = "Uid:\t1000\t1000\t1000\t1000\nNSpid:\t1001\t7\n";
    fs::write(system.path().join("proc/1001/status"), status).expect("written");
    assert_eq!(system.ancestry(false).standing(id(1_001)), PeerStanding::Unproven(AncestryGap::Container));
}

#[test]
fn where_the_parents_end_outside_the_namespace_the_chain_is_whole() {
    let system = System::new();
    system.add(Made { pid: 1_001, parent: 0, session: 0, ..Made::default() });
    system.child(1_002, 1_001);
    let why = "such as a shell that was put into the container from outside";
    assert_eq!(system.ancestry(false).standing(id(1_002)), PeerStanding::Person, "{why}");
}

#[test]
fn what_started_the_core_is_a_persons_as_far_as_it_is_not_an_agents() {
    let system = System::new();
    // A multiplexer that was left behind by what started it, and a core in it.
    system.add(Made { pid: 200, parent: 1, session: 200, ..Made::default() });
    system.shell(210, 200, &["-bash"]);
    system.add(Made { pid: CORE, parent: 210, session: 210, ..Made::default() });
    system.shell(1_001, 200, &["-bash"]);
    system.child(1_002, 1_001);
    assert_eq!(system.ancestry(true).standing(id(1_002)), PeerStanding::Person, "another shell of the multiplexer");
    system.child(220, 210);
    system.add(Made { pid: 230, parent: 220, command: &["taskwarden", "connect"], ..Made::default() });
    system.child(CORE, 230);
    assert_eq!(system.ancestry(true).standing(id(1_002)), PeerStanding::Person, "a client there started it");
    system.add(Made { pid: 210, parent: 200, program: "/bin/bash", command: &["bash", "-c", "x"], ..Made::default() });
    let gap = PeerStanding::Unproven(AncestryGap::Orphan(200));
    assert_eq!(system.ancestry(true).standing(id(1_002)), gap, "no person's shell is between: an agent arranged it");
}

#[test]
fn a_service_of_the_users_manager_is_a_root_and_what_it_left_behind_is_none() {
    let system = System::new();
    let manager = "/user.slice/user-1000.slice/user@1000.service/init.scope";
    let terminal = "/user.slice/user-1000.slice/user@1000.service/app.slice/terminal.service";
    let scope = "/user.slice/user-1000.slice/user@1000.service/app.slice/vte-spawn-1.scope";
    system.add(Made { pid: 300, parent: 1, session: 300, unit: manager, ..Made::default() });
    system.add(Made { pid: 310, parent: 300, session: 310, unit: terminal, ..Made::default() });
    system.shell(320, 310, &["bash"]);
    system.child(1_001, 320);
    system.add(Made { pid: 1_002, parent: 300, session: 320, unit: scope, ..Made::default() });
    system.add(Made { pid: 1_003, parent: 300, session: 1_003, unit: terminal, ..Made::default() });
    let ancestry = system.ancestry(true);
    assert_eq!(ancestry.standing(id(1_001)), PeerStanding::Person, "a shell in a terminal");
    assert_eq!(
        ancestry.standing(id(1_002)),
        PeerStanding::Unproven(AncestryGap::Orphan(1_002)),
        "adopted from the terminal"
    );
    assert_eq!(
        ancestry.standing(id(1_003)),
        PeerStanding::Unproven(AncestryGap::Orphan(1_003)),
        "adopted from the service"
    );
}

#[test]
fn what_the_first_process_of_a_container_runs_is_a_root_until_an_agent_is_beside_it() {
    let system = System::new();
    // As with a shell for the first process: what is typed there has its session.
    system.add(Made { pid: 1_001, parent: 1, session: 1, ..Made::default() });
    let ancestry = system.ancestry(false);
    assert_eq!(ancestry.standing(id(1_001)), PeerStanding::Person);
    system.add(Made { pid: 1_002, parent: 1, session: 1, command: &["taskwarden", "connect"], ..Made::default() });
    ancestry.remember(id(1_002));
    let why = "then an orphan of the agent looks the same";
    assert_eq!(ancestry.standing(id(1_001)), PeerStanding::Unproven(AncestryGap::Orphan(1_001)), "{why}");
}

#[test]
fn where_all_is_roots_being_roots_proves_nothing() {
    let system = System::new();
    system.add(Made { pid: CORE, parent: 60, uid: 0, ..Made::default() });
    system.add(Made { pid: 1_001, parent: 1, session: 60, uid: 0, ..Made::default() });
    assert_eq!(system.ancestry(false).standing(id(1_001)), PeerStanding::Unproven(AncestryGap::Orphan(1_001)));
}

/// A client (700) in the login's shell, its bridge (720) under `bash -c` (710), and a command of it (730).
fn with_client(system: &System) {
    system.add(Made { pid: 700, parent: 60, session: 60, ..Made::default() });
    let script = &["bash", "-c", "exec taskwarden connect"];
    system.add(Made { pid: 710, parent: 700, session: 60, program: "/bin/bash", command: script, ..Made::default() });
    system.add(Made { pid: 720, parent: 710, session: 60, command: &["taskwarden", "connect"], ..Made::default() });
    system.add(Made { pid: 730, parent: 700, session: 60, ..Made::default() });
}

#[test]
fn what_started_a_bridge_through_a_shell_is_an_agents_where_it_is_strict() {
    let system = System::new();
    with_client(&system);
    system.child(1_001, 60);
    let strict = system.ancestry(true);
    assert_eq!(strict.standing(id(730)), PeerStanding::Person, "nothing is known before a bridge came");
    strict.remember(id(720));
    for pid in [700, 710, 720, 730] {
        assert_eq!(strict.standing(id(pid)), PeerStanding::Descendant, "{pid}");
    }
    assert_eq!(strict.standing(id(1_001)), PeerStanding::Person, "the shell above the client is the person's");
    let plain = system.ancestry(false);
    plain.remember(id(720));
    assert_eq!(plain.standing(id(720)), PeerStanding::Descendant, "the bridge");
    assert_eq!(plain.standing(id(730)), PeerStanding::Person, "may be an editor's terminal, where a person types");
}

#[test]
fn a_client_is_no_shell_whatever_it_calls_itself() {
    let system = System::new();
    // It leads its session and its arguments are a shell's.
    let named = Made { pid: 700, parent: 60, session: 700, command: &["bash"], ..Made::default() };
    system.add(named);
    system.add(Made { pid: 720, parent: 700, session: 700, command: &["taskwarden", "connect"], ..Made::default() });
    system.add(Made { pid: 730, parent: 700, session: 700, ..Made::default() });
    let ancestry = system.ancestry(true);
    ancestry.remember(id(720));
    assert_eq!(ancestry.standing(id(730)), PeerStanding::Descendant);
}

#[test]
fn the_oldest_agents_are_forgotten_when_there_are_too_many() {
    let system = System::new();
    for (bridge, child) in [(710, 711), (720, 721), (730, 731)] {
        system.child(bridge, 60);
        system.child(child, bridge);
    }
    let ancestry = Ancestry::new(ProcessTable::in_folder(system.path()), CORE, 2, false);
    for bridge in [710, 720, 730] {
        ancestry.remember(id(bridge));
    }
    assert_eq!(ancestry.standing(id(711)), PeerStanding::Person, "two are kept");
    assert_eq!(ancestry.standing(id(731)), PeerStanding::Descendant, "the newest are");
}

#[test]
fn what_adopted_a_detached_core_adopts_orphans_too_and_is_no_proof() {
    let system = System::new();
    // A client that adopts orphans (70) started the bridge that started the core.
    system.child(70, 60);
    system.add(Made { pid: CORE, parent: 70, session: CORE, ..Made::default() });
    system.child(1_001, 70);
    let mut ancestry = system.ancestry(false);
    assert_eq!(ancestry.standing(id(1_001)), PeerStanding::Person, "a core that nobody let go does not look at that");
    ancestry.set_detached(Starters(vec![id(60), id(50)]));
    assert_eq!(
        ancestry.standing(id(1_001)),
        PeerStanding::Unproven(AncestryGap::Orphan(1_001)),
        "it may be what a server of a killed core left behind"
    );
    system.child(1_002, 60);
    assert_eq!(ancestry.standing(id(1_002)), PeerStanding::Person, "the shell above the client is the person's");
    system.child(1_003, CORE);
    assert_eq!(ancestry.standing(id(1_003)), PeerStanding::Descendant, "and below the core is below the core");
}

#[test]
fn a_core_knows_its_starters_from_before_it_was_let_go() {
    let system = System::new();
    // A terminal multiplexer whose parent is gone (40), a shell in it (41), and a client (42) with its bridge (43).
    system.add(Made { pid: 40, parent: 1, session: 40, ..Made::default() });
    system.shell(41, 40, &["-bash"]);
    system.child(42, 41);
    system.add(Made { pid: 43, parent: 42, command: &["/usr/bin/taskwarden", "connect"], ..Made::default() });
    system.add(Made { pid: 44, parent: 43, command: &["/usr/bin/taskwarden", "serve"], ..Made::default() });
    system.add(Made { pid: CORE, parent: 44, session: CORE, ..Made::default() });
    let read = Starters(system.ancestry(false).starters.clone());
    assert_eq!(read.0, [id(41), id(40)], "from the person's own shell upwards, and not the client");
    system.add(Made { pid: CORE, parent: 1, session: CORE, ..Made::default() });
    system.shell(1_001, 40, &["-bash"]);
    system.child(1_002, 1_001);
    let mut ancestry = system.ancestry(false);
    assert_eq!(
        ancestry.standing(id(1_002)),
        PeerStanding::Unproven(AncestryGap::Orphan(40)),
        "init says nothing of them"
    );
    ancestry.set_detached(read);
    assert_eq!(ancestry.standing(id(1_002)), PeerStanding::Person, "another window of the same multiplexer");
}

#[test]
fn a_core_that_a_server_or_an_agent_starts_is_told_from_a_persons() {
    let system = System::new();
    assert!(!system.ancestry(false).is_core_below_agent(), "a person's, in a shell");
    // A keeper that outlived its core (70), its server (71) and a shell of it (72).
    system.add(Made { pid: 70, parent: 1, session: 70, command: &["/usr/bin/taskwarden", "keep"], ..Made::default() });
    system.child(71, 70);
    system.shell(72, 71, &["bash", "-c", "taskwarden serve"]);
    system.add(Made { pid: CORE, parent: 72, session: 72, ..Made::default() });
    assert!(system.ancestry(false).is_core_below_agent(), "a server's");
    system.child(80, 60);
    system.add(Made { pid: 81, parent: 80, command: &["/usr/bin/taskwarden", "connect"], ..Made::default() });
    system.add(Made { pid: CORE, parent: 81, session: 81, ..Made::default() });
    assert!(system.ancestry(false).is_core_below_agent(), "a bridge's");
}

/// An orphan whose core and keeper were killed together is a child of the first process, in a session of its choice.
#[test]
fn what_a_server_left_behind_is_no_person_when_its_keeper_and_core_were_killed() {
    let system = System::new();
    let why = "it was taken over by a login's shell, or so it looks";
    system.child(1_001, 60);
    assert_eq!(system.ancestry(false).standing(id(1_001)), PeerStanding::Person);

    system.limit_queues(1, 819_200);
    system.limit_queues(1_001, 819_200);
    assert_eq!(system.ancestry(false).standing(id(1_001)), PeerStanding::Person);

    system.limit_queues(1_001, 819_199);
    assert_eq!(system.ancestry(false).standing(id(1_001)), PeerStanding::Unproven(AncestryGap::ServerMark), "{why}");
    system.limit_queues(1_001, 1_000);
    assert_eq!(
        system.ancestry(false).standing(id(1_001)),
        PeerStanding::Unproven(AncestryGap::ServerMark),
        "lowered further, it still shows"
    );

    system.limit_queues(CORE, 819_199);
    assert!(system.ancestry(false).is_core_below_agent(), "a core that it started");
}

#[test]
fn a_system_whose_own_limit_is_as_low_as_the_mark_takes_nobody_for_a_servers() {
    let system = System::new();
    system.child(1_001, 60);
    system.limit_queues(1, 1_000);
    system.limit_queues(1_001, 1_000);
    assert_eq!(system.ancestry(false).standing(id(1_001)), PeerStanding::Person);
}
