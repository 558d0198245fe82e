-- Receipts of agents' calls, in batches that rows of the audit log vouch for (decision 0080, docs/audit.md). Adds only.

CREATE TABLE receipts (
    number INTEGER PRIMARY KEY,         -- from 1 without gaps
    at INTEGER NOT NULL,
    agent TEXT NOT NULL,
    server TEXT,                        -- null: no server has the tool
    tool TEXT NOT NULL,
    args_mark BLOB,                     -- keyed: equal arguments have equal marks
    verdict TEXT NOT NULL,
    outcome TEXT NOT NULL,
    took_ms INTEGER NOT NULL,
    bytes_in INTEGER NOT NULL,
    bytes_out INTEGER NOT NULL,
    handle TEXT,                        -- null: the call has no task
    leaf BLOB NOT NULL                  -- the beginning of its hash: says which receipt of a batch was changed
);
-- Entries of one agent, server or task stand by number.
CREATE INDEX receipts_by_agent ON receipts (agent);
CREATE INDEX receipts_by_server ON receipts (server) WHERE server IS NOT NULL;
CREATE INDEX receipts_by_task ON receipts (handle) WHERE handle IS NOT NULL;

CREATE TABLE receipt_batches (
    number INTEGER PRIMARY KEY,         -- from 1
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    root BLOB NOT NULL,
    audit_number INTEGER NOT NULL,      -- the row `called` that vouches for it
    complete_to INTEGER NOT NULL,       -- receipts from before are in this batch or an earlier one
    removed INTEGER,                    -- when retention removed its receipts
    mark BLOB                           -- keyed: the receipts were removed by this registry
);
CREATE INDEX receipt_batches_by_row ON receipt_batches (audit_number);
CREATE INDEX receipt_batches_removed ON receipt_batches (number) WHERE removed IS NOT NULL;

-- When the run began that may have receipts in memory; null after an orderly end.
ALTER TABLE store ADD COLUMN receipts_begun INTEGER;
