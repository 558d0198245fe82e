-- The tree over the audit log, the keys that signed it, and its checkpoints (decision 0077, docs/audit.md). Adds only; the
-- tree of a registry from before is built from its rows.

ALTER TABLE store ADD COLUMN log_id TEXT NOT NULL DEFAULT '';
UPDATE store SET log_id = lower(hex(randomblob(16)));
ALTER TABLE store ADD COLUMN audit_frontier BLOB;     -- the right edge of the tree; null without any row

CREATE TABLE audit_nodes (
    level INTEGER NOT NULL,             -- 8, 16, 24, ...: subtrees of 256, 65,536, ... rows
    number INTEGER NOT NULL,            -- from 0
    hash BLOB NOT NULL,
    PRIMARY KEY (level, number)
) WITHOUT ROWID;

CREATE TABLE checkpoints (
    size INTEGER PRIMARY KEY,
    root BLOB NOT NULL,
    note TEXT NOT NULL,                 -- the whole signed note
    at INTEGER NOT NULL,
    key TEXT NOT NULL
);

CREATE TABLE signing_keys (
    id TEXT NOT NULL PRIMARY KEY,
    public TEXT NOT NULL,
    created INTEGER NOT NULL,
    retired INTEGER
) WITHOUT ROWID;
