-- Everything that is stored of a task counts for its agent and its server (decision 0096): payloads, raw messages,
-- questions and status lines. Triggers keep the sums in the transaction of the rows, whoever writes.
DROP TRIGGER payload_use_added;
DROP TRIGGER payload_use_changed;
DROP TRIGGER payload_use_removed;
DROP TABLE payload_use;

-- Bytes of sealed values by task: which task to clean is found without reading what it would remove.
CREATE TABLE task_bytes (
    handle INTEGER PRIMARY KEY REFERENCES handles (number),
    payloads INTEGER NOT NULL DEFAULT 0,
    messages INTEGER NOT NULL DEFAULT 0,
    questions INTEGER NOT NULL DEFAULT 0,
    lines INTEGER NOT NULL DEFAULT 0
);
INSERT INTO task_bytes (handle, payloads, messages, questions, lines)
SELECT handle, sum(payloads), sum(messages), sum(questions), sum(lines) FROM (
    SELECT handle, length(sealed) AS payloads, 0 AS messages, 0 AS questions, 0 AS lines FROM payloads
    UNION ALL SELECT handle, 0, length(body_sealed), 0, 0 FROM raw_messages
    UNION ALL SELECT handle, 0, 0, length(body_sealed), 0 FROM requests
    UNION ALL SELECT handle, 0, 0, 0, length(line_sealed) FROM status_log
) WHERE handle IN (SELECT number FROM handles) GROUP BY handle;

-- The same by owner: what quotas are checked against.
CREATE TABLE stored_use (
    server TEXT NOT NULL,
    agent TEXT NOT NULL,                -- empty: people
    payloads INTEGER NOT NULL,
    messages INTEGER NOT NULL,
    questions INTEGER NOT NULL,
    lines INTEGER NOT NULL,
    PRIMARY KEY (server, agent)
) WITHOUT ROWID;
INSERT INTO stored_use (server, agent, payloads, messages, questions, lines)
SELECT h.server, coalesce(h.agent, ''), sum(b.payloads), sum(b.messages), sum(b.questions), sum(b.lines)
FROM task_bytes b JOIN handles h ON h.number = b.handle GROUP BY 1, 2;

CREATE TRIGGER task_bytes_added AFTER INSERT ON task_bytes BEGIN
    INSERT INTO stored_use (server, agent, payloads, messages, questions, lines)
    SELECT server, coalesce(agent, ''), new.payloads, new.messages, new.questions, new.lines
    FROM handles WHERE number = new.handle
    ON CONFLICT (server, agent) DO UPDATE SET payloads = payloads + excluded.payloads,
        messages = messages + excluded.messages, questions = questions + excluded.questions,
        lines = lines + excluded.lines;
END;
CREATE TRIGGER task_bytes_changed AFTER UPDATE ON task_bytes BEGIN
    INSERT INTO stored_use (server, agent, payloads, messages, questions, lines)
    SELECT server, coalesce(agent, ''), new.payloads - old.payloads, new.messages - old.messages,
        new.questions - old.questions, new.lines - old.lines
    FROM handles WHERE number = new.handle
    ON CONFLICT (server, agent) DO UPDATE SET payloads = payloads + excluded.payloads,
        messages = messages + excluded.messages, questions = questions + excluded.questions,
        lines = lines + excluded.lines;
END;
CREATE TRIGGER task_bytes_removed AFTER DELETE ON task_bytes
WHEN old.payloads <> 0 OR old.messages <> 0 OR old.questions <> 0 OR old.lines <> 0 BEGIN
    INSERT INTO stored_use (server, agent, payloads, messages, questions, lines)
    SELECT server, coalesce(agent, ''), -old.payloads, -old.messages, -old.questions, -old.lines
    FROM handles WHERE number = old.handle
    ON CONFLICT (server, agent) DO UPDATE SET payloads = payloads + excluded.payloads,
        messages = messages + excluded.messages, questions = questions + excluded.questions,
        lines = lines + excluded.lines;
END;

CREATE TRIGGER payloads_added AFTER INSERT ON payloads BEGIN
    INSERT INTO task_bytes (handle, payloads) VALUES (new.handle, length(new.sealed))
    ON CONFLICT (handle) DO UPDATE SET payloads = payloads + excluded.payloads;
END;
CREATE TRIGGER payloads_changed AFTER UPDATE OF sealed ON payloads BEGIN
    UPDATE task_bytes SET payloads = payloads + length(new.sealed) - length(old.sealed) WHERE handle = new.handle;
END;
CREATE TRIGGER payloads_removed AFTER DELETE ON payloads BEGIN
    UPDATE task_bytes SET payloads = payloads - length(old.sealed) WHERE handle = old.handle;
END;
CREATE TRIGGER raw_messages_added AFTER INSERT ON raw_messages BEGIN
    INSERT INTO task_bytes (handle, messages) VALUES (new.handle, length(new.body_sealed))
    ON CONFLICT (handle) DO UPDATE SET messages = messages + excluded.messages;
END;
CREATE TRIGGER raw_messages_removed AFTER DELETE ON raw_messages BEGIN
    UPDATE task_bytes SET messages = messages - length(old.body_sealed) WHERE handle = old.handle;
END;
CREATE TRIGGER requests_added AFTER INSERT ON requests BEGIN
    INSERT INTO task_bytes (handle, questions) VALUES (new.handle, length(new.body_sealed))
    ON CONFLICT (handle) DO UPDATE SET questions = questions + excluded.questions;
END;
CREATE TRIGGER requests_changed AFTER UPDATE OF body_sealed ON requests BEGIN
    UPDATE task_bytes SET questions = questions + length(new.body_sealed) - length(old.body_sealed)
    WHERE handle = new.handle;
END;
CREATE TRIGGER requests_removed AFTER DELETE ON requests BEGIN
    UPDATE task_bytes SET questions = questions - length(old.body_sealed) WHERE handle = old.handle;
END;
CREATE TRIGGER status_log_added AFTER INSERT ON status_log BEGIN
    INSERT INTO task_bytes (handle, lines) VALUES (new.handle, length(new.line_sealed))
    ON CONFLICT (handle) DO UPDATE SET lines = lines + excluded.lines;
END;
CREATE TRIGGER status_log_removed AFTER DELETE ON status_log BEGIN
    UPDATE task_bytes SET lines = lines - length(old.line_sealed) WHERE handle = old.handle;
END;

-- Values that were sealed before they were bound to the version of their task are sealed anew after this step, in small
-- transactions; from then on such a value is refused.
ALTER TABLE store ADD COLUMN resealed INTEGER NOT NULL DEFAULT 0;
UPDATE store SET resealed = 1 WHERE NOT EXISTS (SELECT 1 FROM handles);

-- Kinds of which no task is left go with the last one: names of tools are chosen by peers.
DROP TRIGGER kinds_removed;
CREATE TRIGGER kinds_removed AFTER DELETE ON handles BEGIN
    UPDATE kinds SET handles = handles - 1
    WHERE server = old.server AND agent = coalesce(old.agent, '') AND tool = coalesce(old.tool, '')
      AND phase = old.phase;
    DELETE FROM kinds
    WHERE server = old.server AND agent = coalesce(old.agent, '') AND tool = coalesce(old.tool, '') AND handles = 0;
END;
