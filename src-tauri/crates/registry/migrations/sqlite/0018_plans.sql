-- Tasks that somebody chose to end at once, and how far their operation came (decision 0053). Adds only.

CREATE TABLE plans (
    id TEXT NOT NULL PRIMARY KEY,
    operation TEXT,                     -- null until it is run
    created INTEGER NOT NULL,
    running INTEGER NOT NULL,           -- 1 while its operation has work left
    kept_until INTEGER,                 -- null while it runs
    body TEXT NOT NULL,
    tasks TEXT NOT NULL                 -- JSON array of handles, written once
) WITHOUT ROWID;
CREATE UNIQUE INDEX plans_operation ON plans (operation) WHERE operation IS NOT NULL;
CREATE INDEX plans_running ON plans (created) WHERE running = 1;
CREATE INDEX plans_kept ON plans (kept_until) WHERE kept_until IS NOT NULL;
