-- Two figures for what came to an agent (decision 0022): `tokens` is what stands in the window, `passed` what was passed
-- to its program. In rows from before they are the same.
ALTER TABLE spend ADD COLUMN passed_exactness INTEGER NOT NULL DEFAULT 0;
ALTER TABLE spend ADD COLUMN passed INTEGER NOT NULL DEFAULT 0;
UPDATE spend SET passed_exactness = exactness, passed = tokens;
