-- What the gateway needs: agents, rules, and what is known of a task's agent, job and kin.
-- Adds only: what the first two schemas write stays as it is; tasks from before have no job, no parent and no agent.

-- All of them null where they do not hold, so that most tasks cost no index anything.
ALTER TABLE handles ADD COLUMN job_mark BLOB;       -- keyed hash of the job: arguments can be guessed from a plain one
ALTER TABLE handles ADD COLUMN parent TEXT;         -- id of the task during which it was called
ALTER TABLE handles ADD COLUMN given INTEGER;       -- 1: its agent has its handle, and it was not taken away
ALTER TABLE handles ADD COLUMN undelivered INTEGER; -- 1: its agent never got its reply
ALTER TABLE handles ADD COLUMN orphaned INTEGER;    -- 1: its agent is gone
ALTER TABLE handles ADD COLUMN held INTEGER;        -- 1: its result waits for a person
CREATE INDEX handles_by_job ON handles (job_mark, created, id) WHERE job_mark IS NOT NULL;
CREATE INDEX handles_by_parent ON handles (parent, created, id) WHERE parent IS NOT NULL;
CREATE INDEX handles_given ON handles (agent, created, id) WHERE given = 1;
CREATE INDEX handles_undelivered ON handles (agent, job_mark, created, id) WHERE undelivered = 1;
CREATE INDEX handles_orphaned ON handles (created, id) WHERE orphaned = 1;
CREATE INDEX handles_held ON handles (created, id) WHERE held = 1;

CREATE TABLE agents (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    created INTEGER NOT NULL,
    revoked INTEGER,
    token BLOB NOT NULL,                -- SHA-256 of 256 random bits: tells nothing of them
    task_tools INTEGER NOT NULL,
    seen INTEGER,
    client TEXT,
    calls INTEGER NOT NULL
);
CREATE UNIQUE INDEX agents_by_name ON agents (name) WHERE revoked IS NULL;
CREATE UNIQUE INDEX agents_by_token ON agents (token);

CREATE TABLE rules (
    scope TEXT NOT NULL PRIMARY KEY,    -- agent:ID, server:ID or tool:ID:NAME
    body TEXT NOT NULL
);
