-- The first schema. Append-only: this file never changes once released; its checksum is recorded.
-- Ids are text with a prefix. Moments are milliseconds since 1970 in UTC. `sealed` columns are AES-256-GCM.

-- One row: the counters that each committing transaction advances, so that order of numbers is order of commits.
CREATE TABLE store (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    seq INTEGER NOT NULL,               -- newest place of the change log
    changed_at INTEGER NOT NULL,        -- when that change was made
    pruned_upto INTEGER NOT NULL,       -- change rows up to here are gone
    handle_number INTEGER NOT NULL,     -- last handles.number given out
    audit_number INTEGER NOT NULL,      -- last audit.number given out
    audit_hash BLOB NOT NULL,           -- its hash
    key_check_sealed BLOB               -- opens only with this registry's key; null until the first opening
);
INSERT INTO store (one, seq, changed_at, pruned_upto, handle_number, audit_number, audit_hash)
VALUES (1, 0, 0, 0, 0, 0, zeroblob(32));

CREATE TABLE servers (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    removed INTEGER NOT NULL DEFAULT 0,
    created INTEGER NOT NULL,
    body TEXT NOT NULL,
    session_sealed BLOB
);
CREATE UNIQUE INDEX servers_by_name ON servers (name) WHERE removed = 0;

CREATE TABLE handles (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    server TEXT NOT NULL,               -- no foreign key: tasks outlive their server's configuration
    agent TEXT,
    tool TEXT,
    phase TEXT NOT NULL,
    is_open INTEGER NOT NULL,
    version INTEGER NOT NULL,
    created INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    tick_at INTEGER,
    deliver_at INTEGER,
    log_number INTEGER NOT NULL,        -- last status_log.number given out
    task_mark BLOB,                     -- keyed hash of (server, generation, session, upstream task id)
    body_sealed BLOB NOT NULL
);
CREATE UNIQUE INDEX handles_by_task ON handles (task_mark) WHERE task_mark IS NOT NULL;
CREATE INDEX handles_by_age ON handles (created, id);
CREATE INDEX handles_by_phase ON handles (phase, created, id);
CREATE INDEX handles_by_server ON handles (server, phase, created, id);
CREATE INDEX handles_by_agent ON handles (agent, phase, created, id) WHERE agent IS NOT NULL;
CREATE INDEX handles_by_agent_and_server ON handles (agent, server, phase, created, id) WHERE agent IS NOT NULL;
CREATE INDEX handles_open ON handles (id) WHERE is_open = 1;
CREATE INDEX handles_open_by_server ON handles (server, id) WHERE is_open = 1;
CREATE INDEX handles_ticking ON handles (tick_at, id) WHERE tick_at IS NOT NULL;
CREATE INDEX handles_deliverable ON handles (deliver_at, id) WHERE deliver_at IS NOT NULL;

-- When a task was last heard of; apart from handles, because it is flushed often and is small.
CREATE TABLE contacts (
    handle INTEGER PRIMARY KEY REFERENCES handles (number),
    seen INTEGER NOT NULL,
    next_look INTEGER
);

-- How many handles there are, so that counting does not read them.
CREATE TABLE tallies (
    server TEXT NOT NULL,
    agent TEXT NOT NULL,                -- empty: none
    phase TEXT NOT NULL,
    handles INTEGER NOT NULL,
    PRIMARY KEY (server, agent, phase)
) WITHOUT ROWID;

CREATE TABLE requests (
    handle INTEGER NOT NULL REFERENCES handles (number),
    key TEXT NOT NULL,
    opened INTEGER NOT NULL,
    state TEXT NOT NULL,
    mark BLOB NOT NULL,                 -- keyed hash of the body: tells whether it must be written again
    body_sealed BLOB NOT NULL,
    UNIQUE (handle, key)
);
CREATE INDEX requests_open ON requests (opened) WHERE state = 'open';

CREATE TABLE payloads (
    handle INTEGER NOT NULL REFERENCES handles (number),
    kind TEXT NOT NULL,
    sealed BLOB NOT NULL,
    UNIQUE (handle, kind)
);

CREATE TABLE status_log (
    handle INTEGER NOT NULL REFERENCES handles (number),
    number INTEGER NOT NULL,
    at INTEGER NOT NULL,
    line_sealed BLOB NOT NULL,
    PRIMARY KEY (handle, number)
) WITHOUT ROWID;

CREATE TABLE durations (
    server TEXT NOT NULL,
    tool TEXT NOT NULL,
    number INTEGER NOT NULL,
    took_ms INTEGER NOT NULL,
    PRIMARY KEY (server, tool, number)
) WITHOUT ROWID;

CREATE TABLE changes (
    seq INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    entity TEXT NOT NULL,
    removed INTEGER NOT NULL
);

CREATE TABLE audit (
    number INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    verb TEXT NOT NULL,
    subject TEXT NOT NULL,
    handle TEXT,
    note TEXT NOT NULL,
    previous BLOB NOT NULL,
    hash BLOB NOT NULL
);
CREATE INDEX audit_by_handle ON audit (handle, number) WHERE handle IS NOT NULL;
