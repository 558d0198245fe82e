-- How a person's decision came in: door, process with its start time, executable. Adds only; rows from before have none,
-- and their hashes do not cover it.
ALTER TABLE audit ADD COLUMN origin TEXT;
