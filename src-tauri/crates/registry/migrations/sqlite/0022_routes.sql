-- Entries in files of agent programs that lead through Taskwarden (decision 0071). Adds only.

CREATE TABLE routes (
    id TEXT NOT NULL PRIMARY KEY,
    at INTEGER NOT NULL,
    open INTEGER NOT NULL,              -- 0 when it is undone
    state TEXT NOT NULL,
    body TEXT NOT NULL,                 -- no value of an entry
    content_sealed BLOB                 -- the file before and the entries; null when it is undone
) WITHOUT ROWID;
CREATE INDEX routes_open ON routes (at) WHERE open = 1;
