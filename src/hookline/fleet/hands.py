"""The hooks that a worker can run, told by their definitions, and what runs them."""

from __future__ import annotations

from msgspec.structs import replace

from hookline.background import Background
from hookline.config.layers import Layers
from hookline.definition import Definition, UnreadableDefinitionError
from hookline.errors import ConfigError
from hookline.hook import Hook
from hookline.job import Job, utc_now
from hookline.outbox.store import Claim
from hookline.outcome import Run
from hookline.payload import parse_payload
from hookline.runlog import RunLog
from hookline.runners.base import Delivery, Payload
from hookline.runners.checked import CheckedRunner
from hookline.runners.command import CommandRunner
from hookline.runners.depth import find_stop_reason, read_depth
from hookline.runners.exchange import Exchange
from hookline.runners.preparation import Preparation, Surroundings


class Hands:
    """Runs the hooks of a fleet that are defined and trusted on this machine."""

    def __init__(self, layers: Layers) -> None:
        """Raises `ConfigError` when there is no such hook, or when hooks may not run here."""
        depth = read_depth()
        reason = find_stop_reason(depth, layers.settings)
        if reason is not None:
            raise ConfigError(f"no worker can run here: {reason}")
        self.hooks = tuple(hook for hook in layers.hooks if hook.enabled and hook.execution.where == "fleet")
        if not self.hooks:
            raise ConfigError(
                "no hook here says where: fleet, so a worker could only refuse jobs; "
                "see hookline list, and whether the project's hooks are trusted"
            )
        self._layers = layers
        home = layers.homes["native"] / "hooks"
        self.log = RunLog(home / "log", layers.settings)
        self._exchange = Exchange(home / "tmp")
        self._background = Background(layers.settings, on_landed=lambda _run, _payload: None)
        adopt = self._background.adopt
        preparation = Preparation(Surroundings(project=layers.project, homes=layers.homes, depth=depth), adopt=adopt)
        self._runner = CheckedRunner(CommandRunner(preparation, self._exchange, adopt=adopt), self.find_change)

    def find_hook(self, job: Job) -> Hook | str:
        """The hook that a job was made for, or why there is none here; reads the hook's script."""
        if job.route is None:
            return "refused: the job does not say which definition of its hook it was made for"
        named = [hook for hook in self.hooks if hook.id == job.hook_id and hook.event == job.event]
        if not named:
            return f"refused: no hook {job.hook_id!r} for {job.event} is defined and trusted here"
        here = []
        for hook in named:
            try:
                digest = Definition(hook).digest()
            except UnreadableDefinitionError as error:
                here.append(str(error))
                continue
            if digest == job.route.digest:
                return hook
            here.append(digest[:12])
        there = job.route.digest[:12]
        return f"refused: the hook {job.hook_id!r} is defined differently here ({', '.join(here)}, not {there})"

    def find_change(self, hook: Hook) -> str | None:
        """Why a hook may not run now: its project's hooks are no longer what was trusted."""
        snapshot = self._layers.snapshot
        if snapshot is None or hook.source.layer != "project":
            return None
        change = snapshot.find_change()
        return None if change is None else f"{change} has changed since you trusted it; see hookline trust"

    async def attempt(self, hook: Hook, claim: Claim) -> Run:
        """Run a claimed job's hook once; its process holds the claim as well."""
        job = claim.job
        event, _ = parse_payload(job.event, job.payload)
        delivery = Delivery(job_id=job.id, attempt=job.starts, inheritable=claim.inheritable)
        payload = Payload(event, delivery=delivery, stored=job.payload)
        run = replace(await self._runner.run(hook, payload, run_id=job.id), attempt=job.starts)
        self.log.append(run, event)
        return run

    def close(self) -> None:
        """End what is still running."""
        self._background.close(0)
        self._exchange.close()


def find_age_reason(job: Job) -> str | None:
    """Why a job is too old to be started, None when it is not."""
    limit = None if job.route is None else job.route.max_age_s
    age = (utc_now() - job.created_at).total_seconds()
    if limit is None or age <= limit:
        return None
    return f"too old: made {age:.0f} s ago, more than {limit:g} (max_age_seconds)"
