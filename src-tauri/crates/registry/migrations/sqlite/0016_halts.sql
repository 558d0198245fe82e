-- What people stopped, and how far they let it begin again (decision 0049). At most one halt is not over. Adds only.

CREATE TABLE halts (
    id TEXT NOT NULL PRIMARY KEY,
    at INTEGER NOT NULL,
    over INTEGER NOT NULL,              -- 1 when all calls pass again
    body TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX halts_at ON halts (at, id);

-- The tasks that a halt cancels, as they were open when it began or was widened.
CREATE TABLE halt_tasks (
    halt TEXT NOT NULL,
    handle TEXT NOT NULL,
    PRIMARY KEY (halt, handle)
) WITHOUT ROWID;
