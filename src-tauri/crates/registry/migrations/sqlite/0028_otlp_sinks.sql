-- Collectors that rows of the audit log are sent to (decision 0100, docs/audit.md). Adds only.

CREATE TABLE otlp_sinks (
    id INTEGER PRIMARY KEY,
    url TEXT NOT NULL,
    headers TEXT NOT NULL,              -- names, as a JSON array; their values are with the secrets
    next_number INTEGER NOT NULL,       -- the row that is sent next; moves only after the rows before it were taken
    taken INTEGER,                      -- when rows were taken last
    failure TEXT,                       -- why rows wait; null while they are taken
    failing_since INTEGER,
    paused INTEGER NOT NULL,            -- nothing is sent until a person resumes it
    skipped INTEGER NOT NULL,           -- rows that retention removed before they were sent
    rejected INTEGER NOT NULL,          -- records that the collector rejected
    rejected_why TEXT
);
