#!/bin/sh
# The real window on a display and a session bus of its own. `cargo xtask window` calls this after a build.
set -eu
cd "$(dirname "$0")"
: "${TASKWARDEN_WINDOW:=../../target/debug/taskwarden-desktop}"
TASKWARDEN_WINDOW=$(realpath "$TASKWARDEN_WINDOW")
: "${TASKWARDEN:=$(dirname "$TASKWARDEN_WINDOW")/taskwarden}"
export TASKWARDEN TASKWARDEN_WINDOW
# The display outside, the bus inside. Services that the bus would start by itself must not see the person's own files.
HOME=$(mktemp -d)
export HOME
trap 'rm -rf "$HOME"' EXIT
unset XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_CACHE_HOME DBUS_SESSION_BUS_ADDRESS WAYLAND_DISPLAY
XDG_RUNTIME_DIR="$HOME/run"
export XDG_RUNTIME_DIR
mkdir -m 700 "$XDG_RUNTIME_DIR"
xvfb-run -a -s "-screen 0 1280x800x24 -nolisten tcp" dbus-run-session -- node --test --test-concurrency=1 window.test.mjs attach.test.mjs
