"""
A PostgreSQL server of one's own, in a scratch folder on a free port, which may be killed and stopped at will.

    python3 -m soak.server COMMAND...    # run a command with HOOKLINE_TEST_POSTGRES set to its URL

Needs PostgreSQL's own programs, of Debian's package `postgresql` for example, and nothing else. Started by the
superuser it runs as the user `postgres`, or as `nobody`.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

URL_VARIABLE = "HOOKLINE_TEST_POSTGRES"
_USER = "hookline"
_WITHIN_S = 30
_PLACES = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql*/bin")


class Server:
    """A server; `is_safe` makes it flush what it writes, which tests need not wait for."""

    def __init__(self, root: Path, *, is_safe: bool = False) -> None:
        self._programs = find_programs()
        self._data = root / "data"
        self._log = root / "log"
        self._is_safe = is_safe
        self.port = _find_free_port()
        self.url = f"postgresql://{_USER}@127.0.0.1:{self.port}/postgres"
        self._owner = _find_owner()
        root.mkdir(parents=True, exist_ok=True)
        root.chmod(0o755)
        if self._owner is not None:
            os.chown(root, *self._owner)
        options = ["--auth=trust", f"--username={_USER}", "--encoding=UTF8", "--locale=C", "--no-sync"]
        self._run("initdb", "--pgdata", str(self._data), *options)

    def start(self) -> None:
        """Start it, and wait until it answers."""
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": "",
            "max_connections": "300",
            "fsync": "on" if self._is_safe else "off",
            "log_min_messages": "fatal",
        }
        options = " ".join(f"-c {name}='{value}'" for name, value in settings.items())
        self._run("pg_ctl", "--pgdata", str(self._data), "--log", str(self._log), "-o", options, "-w", "start")

    def stop(self) -> None:
        """Stop it in the ordinary way."""
        self._run("pg_ctl", "--pgdata", str(self._data), "-m", "fast", "-w", "stop")

    def kill(self) -> None:
        """End it as a power cut would, and wait until all of it is gone."""
        processes = self._list_processes()
        for pid in processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        deadline = time.monotonic() + _WITHIN_S
        while any(_is_alive(pid) for pid in processes):
            if time.monotonic() > deadline:
                raise TimeoutError("the server does not end")
            time.sleep(0.01)
        # Where nobody collects orphans its number stays taken, and the next start would hold it for alive.
        (self._data / "postmaster.pid").unlink()

    def freeze(self) -> list[int]:
        """Make it stand still, so that it takes what is sent and answers nothing; returns what to thaw."""
        processes = self._list_processes()
        for pid in processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
        return processes

    def thaw(self, processes: Sequence[int]) -> None:
        """Let it go on."""
        for pid in processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def _list_processes(self) -> list[int]:
        """The server's main process and its children, which are all that it has."""
        main = int((self._data / "postmaster.pid").read_text(encoding="ascii").split()[0])
        found = [main]
        for path in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                if int(path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[1]) == main:
                    found.append(int(path.parent.name))
        return found

    def _run(self, program: str, *arguments: str) -> None:
        owner = {} if self._owner is None else {"user": self._owner[0], "group": self._owner[1], "extra_groups": []}
        done = subprocess.run(
            [str(self._programs / program), *arguments],
            cwd=self._data.parent,
            env={"PATH": os.defpath, "LC_ALL": "C", "HOME": str(self._data.parent)},
            stdin=subprocess.DEVNULL,
            # The server inherits its output, which must not be a pipe that somebody reads to its end.
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL if program == "pg_ctl" else None,
            check=False,
            **owner,  # type: ignore[call-overload]
        )
        if done.returncode:
            log = self._log.read_text(encoding="utf-8", errors="replace") if self._log.exists() else ""
            raise RuntimeError(f"{program} ended with {done.returncode}: {log[-2000:]}")


@contextlib.contextmanager
def running_server(*, is_safe: bool = False) -> Iterator[Server]:
    """A server that runs within the block, in a folder that is removed after it."""
    with tempfile.TemporaryDirectory(prefix="hookline-postgres-", ignore_cleanup_errors=True) as root:
        Path(root).chmod(0o755)  # the server's own user must reach its folder
        server = Server(Path(root) / "server", is_safe=is_safe)
        server.start()
        try:
            yield server
        finally:
            server.stop()


def find_programs() -> Path:
    """The folder with PostgreSQL's programs, the newest; raises `FileNotFoundError`."""
    for pattern in _PLACES:
        found = sorted(Path("/").glob(pattern.lstrip("/")), key=lambda path: path.parent.name.zfill(4))
        for folder in reversed(found):
            if (folder / "initdb").exists():
                return folder
    on_path = shutil.which("initdb")
    if on_path is None:
        raise FileNotFoundError("there is no PostgreSQL here; on Debian and Ubuntu: apt-get install postgresql")
    return Path(on_path).parent


def _find_owner() -> tuple[int, int] | None:
    """Whom the server runs as: itself it refuses to run as the superuser."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            entry = pwd.getpwnam(name)
            return entry.pw_uid, entry.pw_gid
    raise FileNotFoundError("there is no user postgres whom the server could run as")


def _find_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _is_alive(pid: int) -> bool:
    try:
        return (
            Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0] != "Z"
        )
    except OSError:
        return False


def main() -> int:
    """Run the command that is given while a server runs; returns its exit status."""
    command = sys.argv[1:]
    if not command:
        sys.stderr.write("usage: python3 -m soak.server COMMAND...\n")
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the server ends with this
    try:
        find_programs()
    except FileNotFoundError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    with running_server() as server:
        return subprocess.run(command, env={**os.environ, URL_VARIABLE: server.url}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
