-- What screens ask for: lists by place, counts of tasks that are alike, how cancels ended, a person's desk, raw messages.
-- Adds only: what the first schema writes stays as it is, and triggers keep the counts, whoever writes.

-- Where the wish to stop stands, and how long the task took from it to its end. Null without a wish; of tasks that
-- ended before this step it is not known.
ALTER TABLE handles ADD COLUMN stop TEXT;
ALTER TABLE handles ADD COLUMN stop_ms INTEGER;
CREATE INDEX handles_by_stop ON handles (server, stop, stop_ms) WHERE stop IS NOT NULL;

-- Tasks that are alike stand together, newest last.
CREATE INDEX handles_by_kind ON handles (server, coalesce(agent, ''), coalesce(tool, ''), phase, created, id);
-- Everything a list by change is filtered by, so that it is walked without reading the tasks.
CREATE INDEX handles_by_change ON handles (changed, id, created, server, agent, tool, phase);
CREATE INDEX handles_attention ON handles (changed, id) WHERE phase IN ('overdue', 'lost', 'unconfirmed', 'blocked');

-- How many tasks there are of each kind. Empty: no agent, no tool.
CREATE TABLE kinds (
    server TEXT NOT NULL,
    agent TEXT NOT NULL,
    tool TEXT NOT NULL,
    phase TEXT NOT NULL,
    handles INTEGER NOT NULL,
    PRIMARY KEY (server, agent, tool, phase)
) WITHOUT ROWID;
INSERT INTO kinds (server, agent, tool, phase, handles)
SELECT server, coalesce(agent, ''), coalesce(tool, ''), phase, count(*) FROM handles GROUP BY 1, 2, 3, 4;
CREATE TRIGGER kinds_admitted AFTER INSERT ON handles BEGIN
    INSERT INTO kinds (server, agent, tool, phase, handles)
    VALUES (new.server, coalesce(new.agent, ''), coalesce(new.tool, ''), new.phase, 1)
    ON CONFLICT (server, agent, tool, phase) DO UPDATE SET handles = handles + 1;
END;
CREATE TRIGGER kinds_changed AFTER UPDATE OF phase, tool ON handles
WHEN old.phase IS NOT new.phase OR old.tool IS NOT new.tool BEGIN
    UPDATE kinds SET handles = handles - 1
    WHERE server = old.server AND agent = coalesce(old.agent, '') AND tool = coalesce(old.tool, '')
      AND phase = old.phase;
    INSERT INTO kinds (server, agent, tool, phase, handles)
    VALUES (new.server, coalesce(new.agent, ''), coalesce(new.tool, ''), new.phase, 1)
    ON CONFLICT (server, agent, tool, phase) DO UPDATE SET handles = handles + 1;
END;

-- What people keep: saved views, drafts, snoozes, settings.
CREATE TABLE desk (
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    changed INTEGER NOT NULL,
    value_sealed BLOB NOT NULL,
    PRIMARY KEY (kind, key)
);
CREATE INDEX desk_by_age ON desk (kind, changed, key);

CREATE TABLE raw_messages (
    handle INTEGER NOT NULL REFERENCES handles (number),
    number INTEGER NOT NULL,
    at INTEGER NOT NULL,
    direction TEXT NOT NULL,
    about TEXT NOT NULL,                -- the method, in our words
    bytes INTEGER NOT NULL,             -- of the whole message
    cut INTEGER NOT NULL,
    body_sealed BLOB NOT NULL,
    UNIQUE (handle, number)
);
