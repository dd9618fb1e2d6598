-- What a fleet keeps beside the tables of procrastinate. Each part is applied once, in this order, and is never changed.

-- 01_jobs --
-- `id` is the idempotency key of a job and stays for good; the rest of a row ends with the job.
CREATE TABLE hookline_jobs (
    id text PRIMARY KEY,
    task_id bigint,
    state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'done', 'failed', 'removed')),
    hook_id text NOT NULL,
    created_at timestamptz NOT NULL,
    forwarded_at timestamptz NOT NULL DEFAULT now(),
    starts integer NOT NULL DEFAULT 0,
    last_start timestamptz,
    finished_at timestamptz,
    ending text
) WITH (fillfactor = 80);

CREATE INDEX hookline_jobs_state ON hookline_jobs (state, task_id);

-- 02_forward --
-- Enqueue those of the given jobs whose keys are new, and keep their keys, both or neither.
-- It acts with the rights of its owner, so that a machine that forwards needs no other right than to call it; what is
-- looked up in it is looked up where this runs, and last in what the caller may have made for itself.
SELECT set_config('search_path', current_setting('search_path') || ', pg_temp', true);

CREATE FUNCTION hookline_forward_v1(
    ids text[], hook_ids text[], created timestamptz[], starts integer[], last_starts timestamptz[],
    queues text[], priorities integer[], locks text[], jobs text[]
) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    fresh procrastinate_job_to_defer_v1[];
    task_ids bigint[];
BEGIN
    SELECT array_agg(
        ROW(given.queue, 'hookline', given.priority, nullif(given.lock, ''), given.id,
            jsonb_build_object('job', given.job), NULL)::procrastinate_job_to_defer_v1
        ORDER BY given.number)
    INTO fresh
    FROM unnest(ids, queues, priorities, locks, jobs)
        WITH ORDINALITY AS given (id, queue, priority, lock, job, number)
    WHERE NOT EXISTS (SELECT FROM hookline_jobs AS kept WHERE kept.id = given.id);
    IF fresh IS NULL THEN
        RETURN 0;
    END IF;
    task_ids := procrastinate_defer_jobs_v1(fresh);
    INSERT INTO hookline_jobs (id, task_id, hook_id, created_at, starts, last_start)
    SELECT given.id, task.id, given.hook_id, given.created, given.starts, given.last_start
    FROM unnest(ids, hook_ids, created, starts, last_starts) AS given (id, hook_id, created, starts, last_start)
    JOIN procrastinate_jobs AS task ON task.queueing_lock = given.id AND task.id = ANY (task_ids);
    RETURN cardinality(task_ids);
END;
$$;

REVOKE ALL ON FUNCTION hookline_forward_v1 FROM PUBLIC;

-- 03_wake --
-- The engine wakes workers for new jobs alone; without this one that was given back, or whose lock is free now, would
-- wait until they look by themselves.
CREATE FUNCTION hookline_wake_v1() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    message text := json_build_object('type', 'job_inserted', 'job_id', NEW.id)::text;
BEGIN
    PERFORM pg_notify('procrastinate_queue_v1#' || NEW.queue_name, message);
    PERFORM pg_notify('procrastinate_any_queue_v1', message);
    RETURN NEW;
END;
$$;

CREATE TRIGGER hookline_wake_v1 AFTER UPDATE OF status ON procrastinate_jobs
FOR EACH ROW WHEN (
    NEW.task_name = 'hookline' AND OLD.status <> NEW.status
    AND (NEW.status = 'todo' OR (OLD.status = 'doing' AND NEW.lock IS NOT NULL))
)
EXECUTE FUNCTION hookline_wake_v1();
