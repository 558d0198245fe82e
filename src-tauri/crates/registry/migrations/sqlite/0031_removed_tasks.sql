-- Tasks of servers that retention removed (decision 0106). A server may list them for ever; without this they would be found
-- again as new ones. Adds only.
CREATE TABLE removed_tasks (
    number INTEGER PRIMARY KEY,
    mark BLOB NOT NULL UNIQUE           -- as handles.task_mark
);
