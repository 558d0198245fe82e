-- Tasks that a person hid from lists (decision 0047). Which of them may be hidden is decided by the statement that adds
-- them; one whose phase changes, or whose result is held, is shown again, whoever writes.
CREATE TABLE hidden_tasks (
    handle INTEGER PRIMARY KEY REFERENCES handles (number),
    at INTEGER NOT NULL
);
CREATE TRIGGER hidden_tasks_changed AFTER UPDATE OF phase, held, settled ON handles
WHEN old.phase IS NOT new.phase OR old.held IS NOT new.held OR old.settled IS NOT new.settled BEGIN
    DELETE FROM hidden_tasks WHERE handle = new.number;
END;
