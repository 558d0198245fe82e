-- What a million tokens of a model cost, as a person set it, and the hours in which counting ran.
-- Adds only: nothing has a price until somebody sets one, and hours from before are measured where they have spend.

CREATE TABLE prices (
    model TEXT NOT NULL PRIMARY KEY,
    input INTEGER NOT NULL,             -- millionths of the currency for a million tokens that the model reads
    output INTEGER NOT NULL,            -- and for a million that it writes
    currency TEXT NOT NULL,
    set_at INTEGER NOT NULL,
    set_by TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE counted_hours (hour INTEGER NOT NULL PRIMARY KEY);
INSERT INTO counted_hours (hour) SELECT DISTINCT hour FROM spend;
