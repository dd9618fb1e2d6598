"""Reloading an engine's hooks whenever their files change, for `hookline[watch]`."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

from hookline.config.inventory import MAX_ENTRIES, Inventory, take_inventory
from hookline.config.roots import watch_roots
from hookline.errors import HooklineError
from hookline.reloading import Reloaded, Reloader, log_problems

try:
    # The back end itself, as its documentation allows: it tells when it has begun to watch, and one folder at a time.
    from watchfiles._rust_notify import RustNotify
except ModuleNotFoundError as error:
    raise HooklineError("watching hook files needs watchfiles: pip install 'hookline[watch]'") from error

OnReload = Callable[[Reloaded], object]
"""Hears what a reload has changed, on the thread that watches."""

logger = logging.getLogger("hookline")

# A reload waits until nothing has changed for this long, but never longer than the second from the first change on.
_QUIET_MS = 150
_LONGEST_MS = 1000
# What the system's notices leave out (an overflow, a folder on a network) is found by looking this often.
_LOOK_AGAIN_MS = 2000
_MOST_TRIES = 5
_END_S = 2.0


class Watch:
    """
    Watches the files of an engine's hooks on a thread of its own, until it is stopped or the engine is closed.

    Every reload that changes something is logged, and told to `on_reload`.
    """

    def __init__(self, reloader: Reloader, on_reload: OnReload | None) -> None:
        self._reloader = reloader
        self._on_reload = on_reload
        self._stopping = threading.Event()
        self._notify: RustNotify | None = None
        self._watched: dict[str, tuple[int, ...]] = {}
        self._seen: Inventory | None = None
        self._said: set[str] = set()
        self._thread = threading.Thread(target=self._run, name="hookline-watch", daemon=True)
        self._forget = reloader.when_closed(self.stop)
        self._thread.start()

    @property
    def is_running(self) -> bool:
        """Whether it still watches."""
        return self._thread.is_alive() and not self._stopping.is_set()

    def stop(self) -> None:
        """Watch no more; may be called more than once and from anywhere, `on_reload` included."""
        self._stopping.set()
        self._forget()
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join(_END_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def _is_over(self) -> bool:
        return self._stopping.is_set() or self._reloader.is_closed

    def _run(self) -> None:
        while not self._is_over:
            try:
                self._look()
                self._wait()
            except Exception as error:  # boundary: hooks that are no longer watched would change in silence
                if not self._is_over:
                    self._say_once(f"watching hook files failed and begins anew: {error!r}")
                    self._let_go()
                    self._seen = None
                    self._stopping.wait(_LONGEST_MS / 1000)
        self._let_go()

    def _look(self) -> None:
        """Reload if anything is otherwise than it was before the last reload."""
        inventory = self._watch_all()
        if self._seen is not None and inventory.entries == self._seen.entries:
            return
        self._seen = inventory
        reloaded = self._reloader.reload()
        if any(problem.code == "unreadable-file" for problem in self._reloader.problems):
            self._seen = None  # what could not be read just now can perhaps be read soon, without any change
        if reloaded.has_changed:
            self._tell(reloaded)

    def _watch_all(self) -> Inventory:
        """What is there, taken while all folders that matter are being watched."""
        opening = self._reloader.require_opening()
        roots = watch_roots(self._reloader.layers, opening.providers)
        for _ in range(_MOST_TRIES):
            inventory = take_inventory(roots)
            if inventory.folders == self._watched:
                break
            self._begin(inventory)
        if inventory.is_cut:
            self._say_once(f"there are more than {MAX_ENTRIES} files beside hooks; not all of them are watched")
        return inventory

    def _begin(self, inventory: Inventory) -> None:
        self._let_go()
        try:
            self._notify = RustNotify(
                sorted(inventory.folders),
                debug=False,
                force_polling=False,
                poll_delay_ms=_QUIET_MS,
                recursive=False,
                ignore_permission_denied=True,
            )
        except FileNotFoundError:  # one of them has just gone: the next look sees that
            return
        except OSError as error:
            self._say_once(f"the system watches no more files ({error}); hook files are looked at every second instead")
        self._watched = inventory.folders

    def _wait(self) -> None:
        if self._notify is None:
            self._stopping.wait(_LONGEST_MS / 1000)
        else:
            self._notify.watch(_LONGEST_MS, _QUIET_MS, _LOOK_AGAIN_MS, self._stopping)

    def _let_go(self) -> None:
        if self._notify is not None:
            self._notify.close()
        self._notify, self._watched = None, {}

    def _tell(self, reloaded: Reloaded) -> None:
        is_bad = reloaded.failure or any(problem.severity != "notice" for problem in reloaded.problems)
        logger.log(logging.WARNING if is_bad else logging.INFO, "%s", reloaded)
        log_problems(reloaded.problems)
        if self._on_reload is None:
            return
        try:
            self._on_reload(reloaded)
        except Exception as error:  # boundary: the listener is the host's code
            logger.warning("on_reload raised %r", error)

    def _say_once(self, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            logger.warning("%s", text)
