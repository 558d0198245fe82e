-- What collectors say is stored no longer, because it can repeat the values of headers (decision 0100); what an earlier
-- version stored of it is erased. Adds when a collector began to reject records.

ALTER TABLE otlp_sinks DROP COLUMN rejected_why;
ALTER TABLE otlp_sinks ADD COLUMN rejected_since INTEGER;   -- null when it rejected none, or before this column
UPDATE otlp_sinks SET failure = substr(failure, 1, instr(failure, ': `') - 1) WHERE instr(failure, ': `') > 0;
