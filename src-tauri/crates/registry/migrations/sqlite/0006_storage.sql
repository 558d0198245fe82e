-- What retention and checks need: stored bytes by server and agent, removed audit segments, how far the chain was
-- verified, and which transaction was the last one. Adds only.

-- Advanced by each transaction of the writer: tells whether one whose COMMIT failed was durable all the same.
ALTER TABLE store ADD COLUMN last_commit INTEGER NOT NULL DEFAULT 0;
-- The audit chain is verified up to this row; the mark is a keyed hash of the row's number and hash.
ALTER TABLE store ADD COLUMN verified_number INTEGER NOT NULL DEFAULT 0;
ALTER TABLE store ADD COLUMN verified_mark BLOB;

-- The version of the task with which a value was sealed; 0: sealed before this step, without one.
ALTER TABLE payloads ADD COLUMN version INTEGER NOT NULL DEFAULT 0;
ALTER TABLE requests ADD COLUMN version INTEGER NOT NULL DEFAULT 0;

-- Audit rows that were removed in one piece: what a verifier needs to go on behind them.
CREATE TABLE audit_segments (
    first INTEGER PRIMARY KEY,
    last INTEGER NOT NULL,
    previous BLOB NOT NULL,             -- hash of the row before `first`
    hash BLOB NOT NULL,                 -- hash of `last`
    removed INTEGER NOT NULL,
    mark BLOB NOT NULL                  -- keyed hash of all of the above
);

CREATE TABLE payload_use (
    server TEXT NOT NULL,
    agent TEXT NOT NULL,                -- empty: people
    bytes INTEGER NOT NULL,
    PRIMARY KEY (server, agent)
) WITHOUT ROWID;
INSERT INTO payload_use (server, agent, bytes)
SELECT h.server, coalesce(h.agent, ''), sum(length(p.sealed)) FROM payloads p JOIN handles h ON h.number = p.handle
GROUP BY 1, 2;
CREATE TRIGGER payload_use_added AFTER INSERT ON payloads BEGIN
    INSERT INTO payload_use (server, agent, bytes)
    SELECT server, coalesce(agent, ''), length(new.sealed) FROM handles WHERE number = new.handle
    ON CONFLICT (server, agent) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER payload_use_changed AFTER UPDATE OF sealed ON payloads BEGIN
    INSERT INTO payload_use (server, agent, bytes)
    SELECT server, coalesce(agent, ''), length(new.sealed) - length(old.sealed) FROM handles WHERE number = new.handle
    ON CONFLICT (server, agent) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER payload_use_removed AFTER DELETE ON payloads BEGIN
    INSERT INTO payload_use (server, agent, bytes)
    SELECT server, coalesce(agent, ''), -length(old.sealed) FROM handles WHERE number = old.handle
    ON CONFLICT (server, agent) DO UPDATE SET bytes = bytes + excluded.bytes;
END;

-- The second schema counts tasks by triggers; they could not be removed until now.
CREATE TRIGGER kinds_removed AFTER DELETE ON handles BEGIN
    UPDATE kinds SET handles = handles - 1
    WHERE server = old.server AND agent = coalesce(old.agent, '') AND tool = coalesce(old.tool, '')
      AND phase = old.phase;
END;
