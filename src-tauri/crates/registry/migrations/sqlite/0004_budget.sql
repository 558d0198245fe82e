-- What the context budget needs: how agents are counted, their windows, and what flowed and was wasted by the hour.
-- Adds only: tasks and rules from before have no figures and no limits, agents are counted by what is known of them.

ALTER TABLE agents ADD COLUMN meter TEXT;               -- what a person set for counting, as JSON; null: nothing
ALTER TABLE handles ADD COLUMN over_limit INTEGER;      -- 1: a person is asked whether it may go on past its limit
CREATE INDEX handles_over_limit ON handles (created, id) WHERE over_limit = 1;

CREATE TABLE windows (
    id TEXT NOT NULL PRIMARY KEY,
    agent TEXT NOT NULL,
    began INTEGER NOT NULL,
    last INTEGER NOT NULL,
    ended INTEGER,
    body_sealed BLOB NOT NULL           -- sealed: it names the sessions of the agent at its doors
);
CREATE INDEX windows_open ON windows (agent) WHERE ended IS NULL;
CREATE INDEX windows_ended ON windows (agent, ended, began, id) WHERE ended IS NOT NULL;

-- Exactness is a rank, so that the least exact part of a sum is the largest: 0 exact, 1 about, 2 at most.
CREATE TABLE spend (
    hour INTEGER NOT NULL,
    agent TEXT NOT NULL,
    server TEXT NOT NULL,               -- empty: the gateway's own
    flow TEXT NOT NULL,
    family TEXT NOT NULL,
    exactness INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    messages INTEGER NOT NULL,
    PRIMARY KEY (hour, agent, server, flow, family)
) WITHOUT ROWID;
CREATE INDEX spend_by_agent ON spend (agent, hour);

CREATE TABLE waste (
    hour INTEGER NOT NULL,
    agent TEXT NOT NULL,                -- empty: no agent's fault
    server TEXT NOT NULL,
    waste TEXT NOT NULL,
    exactness INTEGER NOT NULL,
    count INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    PRIMARY KEY (hour, agent, server, waste)
) WITHOUT ROWID;
CREATE INDEX waste_by_agent ON waste (agent, hour);
