-- The audit log is read by filters, newest or oldest first. Adds indexes only.

CREATE INDEX audit_by_verb ON audit (verb, number);
CREATE INDEX audit_by_actor ON audit (actor, number);
CREATE INDEX audit_by_server ON audit (server, number) WHERE server IS NOT NULL;
CREATE INDEX audit_by_agent ON audit (agent, number) WHERE agent IS NOT NULL;
