-- The statements of a fleet by their names. Each is a transaction of its own.

-- forward --
-- Texts go in binary form, which needs no escapes.
SELECT hookline_forward_v1(
    %(ids)b::text[], %(hook_ids)b::text[], %(created)s::timestamptz[], %(starts)s::integer[],
    %(last_starts)s::timestamptz[], %(queues)b::text[], %(priorities)s::integer[], %(locks)b::text[], %(jobs)b::text[]
) AS fresh

-- get --
SELECT kept.*, task.args ->> 'job' AS job
FROM hookline_jobs AS kept JOIN procrastinate_jobs AS task ON task.id = kept.task_id
WHERE kept.id = %(id)s

-- list --
SELECT kept.*, task.args ->> 'job' AS job
FROM hookline_jobs AS kept JOIN procrastinate_jobs AS task ON task.id = kept.task_id
WHERE kept.state = %(state)s AND kept.task_id > %(after)s
ORDER BY kept.task_id LIMIT %(most)s

-- count --
SELECT state, count(*) AS count FROM hookline_jobs WHERE state <> 'removed' GROUP BY state

-- begin --
UPDATE hookline_jobs SET starts = starts + 1, last_start = %(now)s
WHERE id = %(id)s AND state = 'pending'
RETURNING starts

-- finish --
-- A job that a worker of procrastinate holds ('doing') is ended there by that worker.
WITH ended AS (
    UPDATE hookline_jobs SET state = %(state)s, finished_at = %(finished_at)s, ending = %(ending)s,
        starts = %(starts)s, last_start = %(last_start)s::timestamptz
    WHERE id = %(id)s AND state = 'pending'
    RETURNING id, task_id
), unqueued AS (
    UPDATE procrastinate_jobs AS task
    SET status = (CASE %(state)s::text WHEN 'done' THEN 'succeeded' ELSE 'failed' END)::procrastinate_job_status
    FROM ended WHERE task.id = ended.task_id AND task.status = 'todo'
)
SELECT id FROM ended

-- retry --
WITH failed AS (
    SELECT kept.id, kept.task_id
    FROM hookline_jobs AS kept JOIN procrastinate_jobs AS task ON task.id = kept.task_id
    WHERE kept.id = %(id)s AND kept.state = 'failed' AND task.status NOT IN ('todo', 'doing')
    FOR UPDATE
), reset AS (
    UPDATE hookline_jobs AS kept
    SET state = 'pending', starts = 0, last_start = NULL, finished_at = NULL, ending = NULL
    FROM failed WHERE kept.id = failed.id
), queued AS (
    UPDATE procrastinate_jobs AS task SET status = 'todo', attempts = 0, scheduled_at = NULL, worker_id = NULL
    FROM failed WHERE task.id = failed.task_id
)
SELECT id FROM failed

-- purge --
WITH ended AS (
    SELECT kept.id, kept.task_id
    FROM hookline_jobs AS kept JOIN procrastinate_jobs AS task ON task.id = kept.task_id
    WHERE kept.state = %(state)s AND kept.finished_at < %(before)s AND task.status NOT IN ('todo', 'doing')
    FOR UPDATE
), removed AS (
    UPDATE hookline_jobs AS kept SET state = 'removed', task_id = NULL, ending = NULL
    FROM ended WHERE kept.id = ended.id
    RETURNING kept.id
), deleted AS (
    DELETE FROM procrastinate_jobs AS task USING ended WHERE task.id = ended.task_id
)
SELECT count(*) AS count FROM removed

-- beats --
SELECT id, last_heartbeat FROM procrastinate_workers

-- take_over --
-- Forget the workers that are dead, unless they were heard of since, and give back what they and those held who are
-- forgotten already; a hook that still runs keeps its lock.
WITH dead AS (
    DELETE FROM procrastinate_workers AS worker
    USING unnest(%(ids)s::bigint[], %(beats)s::timestamptz[]) AS given (id, beat)
    WHERE worker.id = given.id AND worker.last_heartbeat = given.beat
    RETURNING worker.id
), held AS (
    SELECT task.id
    FROM procrastinate_jobs AS task
    WHERE task.status = 'doing' AND task.task_name = 'hookline'
        AND (task.worker_id IS NULL OR task.worker_id IN (SELECT id FROM dead))
    FOR UPDATE SKIP LOCKED
)
UPDATE procrastinate_jobs AS task SET status = 'todo', attempts = attempts + 1, scheduled_at = now(), worker_id = NULL
FROM held WHERE task.id = held.id
RETURNING task.queueing_lock AS id

-- open --
SELECT EXISTS (
    SELECT FROM procrastinate_jobs WHERE status IN ('todo', 'doing') AND task_name = 'hookline'
        AND (%(queues)s::text[] IS NULL OR queue_name = ANY (%(queues)s::text[]))
) AS is_any

-- metrics --
SELECT kept.state, kept.hook_id, task.queue_name AS queue, count(*) AS count,
    count(*) FILTER (WHERE task.status = 'doing') AS running,
    extract(epoch FROM now() - min(kept.created_at))::float AS oldest_s,
    coalesce(sum(kept.starts), 0)::bigint AS starts
FROM hookline_jobs AS kept JOIN procrastinate_jobs AS task ON task.id = kept.task_id
GROUP BY kept.state, kept.hook_id, task.queue_name
ORDER BY kept.state, kept.hook_id, task.queue_name

-- workers --
SELECT id, extract(epoch FROM now() - last_heartbeat)::float AS silent_s FROM procrastinate_workers ORDER BY id

-- lock --
SELECT pg_try_advisory_lock(hashtextextended(%(id)s, 7419)) AS is_taken

-- unlock --
SELECT pg_advisory_unlock(hashtextextended(%(id)s, 7419)) AS is_freed

-- tables --
SELECT to_regclass('hookline_migrations') IS NOT NULL AS ours, to_regclass('procrastinate_jobs') IS NOT NULL AS queue
