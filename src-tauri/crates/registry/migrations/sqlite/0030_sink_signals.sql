-- A sink has signals, each with a cursor of its own (decision 0103): log records of rows, and spans of tasks that ended.
-- Sinks of an earlier version send log records. The address is the one in front of the paths of the signals.

CREATE TABLE otlp_progress (
    sink INTEGER NOT NULL,
    signal TEXT NOT NULL,               -- `logs` or `traces`
    next_number INTEGER NOT NULL,       -- the row that is sent next; moves only after what is before it was taken
    taken INTEGER,                      -- when anything was taken last
    failure TEXT,                       -- why rows wait; null while they are taken
    failing_since INTEGER,
    paused INTEGER NOT NULL,            -- nothing is sent until a person resumes it
    skipped INTEGER NOT NULL,           -- rows that retention removed before they were sent
    rejected INTEGER NOT NULL,          -- records or spans that the collector rejected
    rejected_since INTEGER,             -- null when it rejected none, or when that is not known
    PRIMARY KEY (sink, signal)
) WITHOUT ROWID;
INSERT INTO otlp_progress
    SELECT id, 'logs', next_number, taken, failure, failing_since, paused, skipped, rejected, rejected_since
    FROM otlp_sinks;
CREATE TABLE sinks_as_they_are (
    id INTEGER PRIMARY KEY,
    url TEXT NOT NULL,
    headers TEXT NOT NULL               -- names, as a JSON array; their values are with the secrets
);
INSERT INTO sinks_as_they_are
    SELECT id, CASE WHEN url LIKE '%/v1/logs' THEN substr(url, 1, length(url) - length('/v1/logs')) ELSE url END, headers
    FROM otlp_sinks;
DROP TABLE otlp_sinks;
ALTER TABLE sinks_as_they_are RENAME TO otlp_sinks;
