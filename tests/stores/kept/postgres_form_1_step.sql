-- One step of a session, as a replica of that version writes it.
WITH ours AS (
    UPDATE toolcrib_leases SET expires_at = coalesce(1777896001000000::bigint, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) + 30000000, last_write = 'w1'
    WHERE tenant = '' AND session = 'erste' AND token = 't0' RETURNING tenant, session
), messages AS (
    INSERT INTO toolcrib_messages (tenant, session, position, message)
    SELECT tenant, session, last + number, message
    FROM ours, unnest( E'{"{\\"role\\":\\"user\\",\\"text\\":\\"more\\"}"}'::text[]) WITH ORDINALITY AS new (message, number), LATERAL (
        SELECT coalesce(max(position), -1) AS last FROM toolcrib_messages AS held
        WHERE held.tenant = ours.tenant AND held.session = ours.session) AS held
), events AS (
    INSERT INTO toolcrib_events (tenant, session, position, at, event)
    SELECT tenant, session, last + number, 1777896001000000, event
    FROM ours, unnest( E'{"{\\"type\\":\\"more\\"}"}'::text[]) WITH ORDINALITY AS new (event, number), LATERAL (
        SELECT coalesce(max(position), -1) AS last FROM toolcrib_events AS held
        WHERE held.tenant = ours.tenant AND held.session = ours.session) AS held
), changed AS (
    UPDATE toolcrib_sessions AS held SET updated_at = greatest(updated_at, 1777896001000000::bigint),
        title = coalesce(NULL, title), memory = coalesce(NULL, memory),
        toolbox = coalesce(NULL, toolbox), usage = coalesce('{"input_tokens":13}', usage)
    FROM ours WHERE held.tenant = ours.tenant AND held.id = ours.session
) SELECT 1 FROM ours
