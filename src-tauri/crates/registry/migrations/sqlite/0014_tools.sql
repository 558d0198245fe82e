-- Lost because a person ended its server: nobody has to look at it (decision 0043). Null for all others.
ALTER TABLE handles ADD COLUMN settled INTEGER;
CREATE INDEX handles_settled ON handles (created, id) WHERE settled = 1;
DROP INDEX handles_attention;
CREATE INDEX handles_attention ON handles (changed, id)
    WHERE phase IN ('overdue', 'lost', 'unconfirmed', 'blocked') AND settled IS NULL;

-- What is remembered of the tools of a server: each in at most two versions, as a person last saw it and as last listed
-- (decision 0044). Definitions are sealed; where both versions are the same, the second is left out.
CREATE TABLE tool_lists (
    server TEXT NOT NULL PRIMARY KEY,
    seen_at INTEGER NOT NULL,
    seen_by TEXT,                       -- nobody looked yet: when the tools were first listed
    left_out INTEGER NOT NULL           -- listed tools beyond the limit
) WITHOUT ROWID;

CREATE TABLE tools (
    server TEXT NOT NULL,
    name TEXT NOT NULL,
    seen TEXT,                          -- digest; null for a tool that was not there then
    listed TEXT,                        -- digest; null for a tool that is not listed any more
    seen_sealed BLOB,                   -- null for a definition that is too long to keep
    listed_sealed BLOB,
    PRIMARY KEY (server, name)
) WITHOUT ROWID;
