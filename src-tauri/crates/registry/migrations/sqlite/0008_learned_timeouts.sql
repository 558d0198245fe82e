-- The timeout that an agent's program was seen to have, and when it was last seen. Adds only; nothing is known of agents
-- from before.
ALTER TABLE agents ADD COLUMN learned_timeout_ms INTEGER;
ALTER TABLE agents ADD COLUMN timeout_learned INTEGER;
