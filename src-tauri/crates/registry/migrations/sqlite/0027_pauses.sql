-- Agents and local servers that people paused (decision 0082). Adds only.

CREATE TABLE pauses (
    id TEXT NOT NULL PRIMARY KEY,
    subject TEXT NOT NULL,              -- agent:ID or server:ID
    at INTEGER NOT NULL,
    begun_by TEXT NOT NULL,
    reason TEXT NOT NULL,
    holds_results INTEGER NOT NULL,
    ended INTEGER,
    ended_by TEXT,
    sent TEXT                           -- the waiting calls that were chosen, as a JSON array; null for all
) WITHOUT ROWID;
CREATE INDEX pauses_at ON pauses (at, id);
CREATE UNIQUE INDEX pauses_in_force ON pauses (subject) WHERE ended IS NULL;
