-- The tables of a PostgreSQL store as form 1 kept them, with two sessions; `test_postgres_forms.py` brings them up.
CREATE TABLE toolcrib_confirmations (
    tenant text NOT NULL COLLATE pg_catalog."C",
    session text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    tool text NOT NULL,
    arguments text NOT NULL,
    digest text NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    settled_at bigint,
    settled_as text
);
CREATE TABLE toolcrib_events (
    tenant text NOT NULL COLLATE pg_catalog."C",
    session text NOT NULL COLLATE pg_catalog."C",
    "position" integer NOT NULL,
    at bigint NOT NULL,
    event text NOT NULL
);
CREATE TABLE toolcrib_leases (
    tenant text NOT NULL COLLATE pg_catalog."C",
    session text NOT NULL COLLATE pg_catalog."C",
    token text NOT NULL,
    host text NOT NULL,
    pid bigint NOT NULL,
    started text NOT NULL,
    expires_at bigint NOT NULL,
    last_write text DEFAULT ''::text NOT NULL
)
WITH (fillfactor='50');
CREATE TABLE toolcrib_messages (
    tenant text NOT NULL COLLATE pg_catalog."C",
    session text NOT NULL COLLATE pg_catalog."C",
    "position" integer NOT NULL,
    message text NOT NULL
);
CREATE TABLE toolcrib_sessions (
    tenant text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    title text NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    memory text NOT NULL,
    toolbox text NOT NULL,
    usage text NOT NULL
);
CREATE TABLE toolcrib_versions (
    component text NOT NULL,
    version integer NOT NULL
);
INSERT INTO toolcrib_confirmations VALUES ('', 'erste', 'c0ffee', 'cms_deletePage', '{"id":"7"}', 'd1', 1777896000000000, 1777899600000000, NULL, NULL);
INSERT INTO toolcrib_confirmations VALUES ('acme', 'erste', 'c0ffee', 'cms_deletePage', '{"id":"7"}', 'd1', 1777896000000000, 1777899600000000, NULL, NULL);
INSERT INTO toolcrib_leases VALUES ('', 'erste', 't0', 'gone-host||', 4242, '', 1777896030000000, '');
INSERT INTO toolcrib_messages VALUES ('', 'erste', 0, '{"role":"user","text":"find the café ()"}');
INSERT INTO toolcrib_messages VALUES ('', 'erste', 1, '{"role":"assistant","text":"Here it is."}');
INSERT INTO toolcrib_messages VALUES ('acme', 'erste', 0, '{"role":"user","text":"find the café (acme)"}');
INSERT INTO toolcrib_messages VALUES ('acme', 'erste', 1, '{"role":"assistant","text":"Here it is."}');
INSERT INTO toolcrib_sessions VALUES ('', 'erste', '', 1777896000000000, 1777896000000000, '{"version":1,"entities":[{"type":"page","id":"7","name":"Café","seen_at":"2026-05-04T12:00:00+00:00"}],"discovered":["cms_getPage"],"used":[{"name":"cms_getPage","count":1,"last_used":"2026-05-04T12:00:00+00:00","last_outcome":"ok"}],"summary":""}', '{"active":["cms_getPage"]}', '{"input_tokens":12}');
INSERT INTO toolcrib_sessions VALUES ('acme', 'erste', '', 1777896000000000, 1777896000000000, '{"version":1,"entities":[{"type":"page","id":"7","name":"Café","seen_at":"2026-05-04T12:00:00+00:00"}],"discovered":["cms_getPage"],"used":[{"name":"cms_getPage","count":1,"last_used":"2026-05-04T12:00:00+00:00","last_outcome":"ok"}],"summary":""}', '{"active":["cms_getPage"]}', '{"input_tokens":12}');
INSERT INTO toolcrib_versions VALUES ('sessions', 1);
ALTER TABLE ONLY toolcrib_confirmations
    ADD CONSTRAINT toolcrib_confirmations_pkey PRIMARY KEY (tenant, session, id);
ALTER TABLE ONLY toolcrib_events
    ADD CONSTRAINT toolcrib_events_pkey PRIMARY KEY (tenant, session, "position");
ALTER TABLE ONLY toolcrib_leases
    ADD CONSTRAINT toolcrib_leases_pkey PRIMARY KEY (tenant, session);
ALTER TABLE ONLY toolcrib_messages
    ADD CONSTRAINT toolcrib_messages_pkey PRIMARY KEY (tenant, session, "position");
ALTER TABLE ONLY toolcrib_sessions
    ADD CONSTRAINT toolcrib_sessions_pkey PRIMARY KEY (tenant, id);
ALTER TABLE ONLY toolcrib_versions
    ADD CONSTRAINT toolcrib_versions_pkey PRIMARY KEY (component);
CREATE INDEX toolcrib_sessions_by_change ON toolcrib_sessions USING btree (tenant, updated_at);
ALTER TABLE ONLY toolcrib_confirmations
    ADD CONSTRAINT toolcrib_confirmations_tenant_session_fkey FOREIGN KEY (tenant, session) REFERENCES toolcrib_sessions(tenant, id) ON DELETE CASCADE;
ALTER TABLE ONLY toolcrib_events
    ADD CONSTRAINT toolcrib_events_tenant_session_fkey FOREIGN KEY (tenant, session) REFERENCES toolcrib_sessions(tenant, id) ON DELETE CASCADE;
ALTER TABLE ONLY toolcrib_leases
    ADD CONSTRAINT toolcrib_leases_tenant_session_fkey FOREIGN KEY (tenant, session) REFERENCES toolcrib_sessions(tenant, id) ON DELETE CASCADE;
ALTER TABLE ONLY toolcrib_messages
    ADD CONSTRAINT toolcrib_messages_tenant_session_fkey FOREIGN KEY (tenant, session) REFERENCES toolcrib_sessions(tenant, id) ON DELETE CASCADE;
