-- A store as form 2 of the tables kept it, with two sessions; `test_schema.py` brings it up.
PRAGMA application_id = 1413698114;
PRAGMA user_version = 2;
BEGIN TRANSACTION;
CREATE TABLE confirmations (
                tenant TEXT NOT NULL, session TEXT NOT NULL, id TEXT NOT NULL, tool TEXT NOT NULL,
                arguments TEXT NOT NULL, digest TEXT NOT NULL, created_at INTEGER NOT NULL,
                expires_at INTEGER NOT NULL, settled_at INTEGER, settled_as TEXT, PRIMARY KEY (tenant, session, id),
                FOREIGN KEY (tenant, session) REFERENCES sessions (tenant, id) ON DELETE CASCADE);
INSERT INTO "confirmations" VALUES('','erste','c0ffee','cms_deletePage','{"id":"7"}','d1',1777896000000000,1777899600000000,NULL,NULL);
INSERT INTO "confirmations" VALUES('','erste','c0ffe2','cms_deletePage','{"id":"8"}','d2',1777896000000000,1777899600000000,1777896000000000,'taken');
INSERT INTO "confirmations" VALUES('acme','erste','c0ffee','cms_deletePage','{"id":"7"}','d1',1777896000000000,1777899600000000,NULL,NULL);
INSERT INTO "confirmations" VALUES('acme','erste','c0ffe2','cms_deletePage','{"id":"8"}','d2',1777896000000000,1777899600000000,1777896000000000,'taken');
CREATE TABLE events (
                tenant TEXT NOT NULL, session TEXT NOT NULL, position INTEGER NOT NULL, at INTEGER NOT NULL,
                event TEXT NOT NULL, PRIMARY KEY (tenant, session, position),
                FOREIGN KEY (tenant, session) REFERENCES sessions (tenant, id) ON DELETE CASCADE);
INSERT INTO "events" VALUES('','erste',0,1777896000000000,'{"type":"run_started"}');
INSERT INTO "events" VALUES('','erste',1,1777896000000000,'{"type":"answered"}');
INSERT INTO "events" VALUES('acme','erste',0,1777896000000000,'{"type":"run_started"}');
INSERT INTO "events" VALUES('acme','erste',1,1777896000000000,'{"type":"answered"}');
CREATE TABLE leases (
                tenant TEXT NOT NULL, session TEXT NOT NULL, token TEXT NOT NULL, host TEXT NOT NULL,
                pid INTEGER NOT NULL, started TEXT NOT NULL, expires_at INTEGER NOT NULL,
                PRIMARY KEY (tenant, session),
                FOREIGN KEY (tenant, session) REFERENCES sessions (tenant, id) ON DELETE CASCADE);
INSERT INTO "leases" VALUES('','erste','t0','gone-host||',4242,'',1777896030000000);
CREATE TABLE messages (
                tenant TEXT NOT NULL, session TEXT NOT NULL, position INTEGER NOT NULL, message TEXT NOT NULL,
                PRIMARY KEY (tenant, session, position),
                FOREIGN KEY (tenant, session) REFERENCES sessions (tenant, id) ON DELETE CASCADE);
INSERT INTO "messages" VALUES('','erste',0,'{"role":"user","text":"find the café ()"}');
INSERT INTO "messages" VALUES('','erste',1,'{"role":"assistant","text":"Here it is."}');
INSERT INTO "messages" VALUES('acme','erste',0,'{"role":"user","text":"find the café (acme)"}');
INSERT INTO "messages" VALUES('acme','erste',1,'{"role":"assistant","text":"Here it is."}');
CREATE TABLE sessions (
                tenant TEXT NOT NULL, id TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
                memory TEXT NOT NULL, toolbox TEXT NOT NULL, usage TEXT NOT NULL, title TEXT NOT NULL DEFAULT '', PRIMARY KEY (tenant, id));
INSERT INTO "sessions" VALUES('','erste',1777896000000000,1777896000000000,'{"version":1,"entities":[{"type":"page","id":"7","name":"Café","seen_at":"2026-05-04T12:00:00+00:00"}],"discovered":["cms_getPage"],"used":[{"name":"cms_getPage","count":1,"last_used":"2026-05-04T12:00:00+00:00","last_outcome":"ok"}],"summary":""}','{"active":["cms_getPage"]}','{"input_tokens":12}','Das Café');
INSERT INTO "sessions" VALUES('acme','erste',1777896000000000,1777896000000000,'{"version":1,"entities":[{"type":"page","id":"7","name":"Café","seen_at":"2026-05-04T12:00:00+00:00"}],"discovered":["cms_getPage"],"used":[{"name":"cms_getPage","count":1,"last_used":"2026-05-04T12:00:00+00:00","last_outcome":"ok"}],"summary":""}','{"active":["cms_getPage"]}','{"input_tokens":12}','Das Café');
CREATE INDEX sessions_by_change ON sessions (tenant, updated_at);
COMMIT;
