-- Alarms about what agents call again and again (decision 0085). Adds only.

CREATE TABLE alarms (
    id TEXT NOT NULL PRIMARY KEY,
    agent TEXT NOT NULL,
    kind TEXT NOT NULL,
    state TEXT NOT NULL,
    raised INTEGER NOT NULL,
    body_sealed BLOB NOT NULL           -- server, tools, times and counts
) WITHOUT ROWID;
CREATE INDEX alarms_raised ON alarms (raised, id);
CREATE INDEX alarms_of_agent ON alarms (agent, raised, id);
