//! Measures the window against an empty one: time from start to a window on the screen, memory of all its processes.
//!
//! Both run in turn on a display and a bus of their own, several times; the medians count. One JSON object a line goes
//! to standard output, as `xtask::bench` reads it. Linux only: it reads `/proc` and asks X11.

use std::collections::BTreeSet;
use std::error::Error;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Runs of each, after one that is thrown away because it warms the disk.
const RUNS: usize = 5;
/// For a window to appear; a busy machine takes its time.
const LIMIT: Duration = Duration::from_secs(60);
/// Between two looks at the screen.
const STEP: Duration = Duration::from_millis(10);
/// From the window's appearance until its memory has settled.
const SETTLE: Duration = Duration::from_secs(4);

struct Measured {
    start_ms: f64,
    memory_mib: f64,
}

type Tried<T> = Result<T, Box<dyn Error>>;

fn main() -> Tried<()> {
    let own_path = std::env::current_exe()?;
    if std::env::var_os("WINDOW_START_INSIDE").is_none() {
        return outside(&own_path);
    }
    let empty = own_path.with_file_name("empty_window");
    let programs = own_path.ancestors().nth(2).ok_or("this program is in no target folder")?;
    let ours = programs.join("taskwarden-desktop");
    let mut empties = Vec::new();
    let mut own = Vec::new();
    for run in 0..=RUNS {
        // In turn, so that both see the same machine.
        for (program, title, found) in [(&empty, "Empty", &mut empties), (&ours, "Taskwarden", &mut own)] {
            let measured = measure(program, title)?;
            if run > 0 {
                found.push(measured);
            }
        }
    }
    let tell = |metric: &str, unit: &str, value: fn(&Measured) -> f64| {
        let (reference, ours) = (median(&empties, value), median(&own, value));
        let ratio = ours / reference;
        println!(
            r#"{{"metric":"{metric}","reference":{reference:.1},"ours":{ours:.1},"unit":"{unit}","ratio":{ratio:.2},"aim":"<= 1.3"}}"#
        );
    };
    tell("window: start to shown, against an empty one", "ms", |measured| measured.start_ms);
    tell("window: memory of all its processes, against an empty one", "MiB", |measured| measured.memory_mib);
    Ok(())
}

/// A display and a bus, with this program inside.
fn outside(own_path: &Path) -> Tried<()> {
    let inside = Command::new("xvfb-run")
        .args(["-a", "-s", "-screen 0 1280x800x24 -nolisten tcp", "dbus-run-session", "--"])
        .arg(own_path)
        .env("WINDOW_START_INSIDE", "1")
        .env_remove("WAYLAND_DISPLAY")
        .status()?;
    if inside.success() { Ok(()) } else { Err(format!("the measurement ended with {inside}").into()) }
}

fn measure(program: &Path, title: &str) -> Tried<Measured> {
    let home = tempfile::tempdir()?;
    let begun = Instant::now();
    let mut child = Command::new(program)
        .env("HOME", home.path())
        .env("XDG_RUNTIME_DIR", home.path())
        .env("TASKWARDEN_HOME", home.path().join("data"))
        .env("TASKWARDEN_SECRETS", "file")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    while !is_shown(title) {
        if begun.elapsed() > LIMIT {
            end(&mut child)?;
            return Err(format!("no window `{title}` within {LIMIT:?}").into());
        }
        pause(STEP);
    }
    let start_ms = begun.elapsed().as_secs_f64() * 1_000.0;
    pause(SETTLE);
    let memory_mib = memory_kib(child.id()) / 1_024.0;
    end(&mut child)?;
    Ok(Measured { start_ms, memory_mib })
}

#[expect(clippy::disallowed_methods, reason = "a measurement that polls another process, not a test")]
fn pause(span: Duration) {
    std::thread::sleep(span);
}

/// Whether a window of that title is on the screen.
fn is_shown(title: &str) -> bool {
    let info = Command::new("xwininfo").args(["-name", title, "-stats"]).stderr(Stdio::null()).output();
    info.is_ok_and(|info| String::from_utf8_lossy(&info.stdout).contains("IsViewable"))
}

/// Proportional set sizes of a process and all it started.
fn memory_kib(root: u32) -> f64 {
    let mut family = BTreeSet::from([root]);
    let parents: Vec<(u32, u32)> = processes().filter_map(|pid| Some((pid, parent(pid)?))).collect();
    loop {
        let children: Vec<u32> =
            parents.iter().filter(|(_, parent)| family.contains(parent)).map(|(pid, _)| *pid).collect();
        let before = family.len();
        family.extend(children);
        if family.len() == before {
            break;
        }
    }
    family.into_iter().filter_map(pss).sum()
}

fn processes() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn parent(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in brackets and may hold anything.
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

fn pss(pid: u32) -> Option<f64> {
    let rollup = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    rollup.lines().find_map(|line| line.strip_prefix("Pss:"))?.split_whitespace().next()?.parse().ok()
}

/// Asked to end, as a session does; the next measurement begins when it is gone.
fn end(child: &mut Child) -> Tried<()> {
    if Command::new("kill").arg(child.id().to_string()).status().is_err() {
        child.kill()?;
    }
    child.wait()?;
    Ok(())
}

fn median(all: &[Measured], value: fn(&Measured) -> f64) -> f64 {
    let mut values: Vec<f64> = all.iter().map(value).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
