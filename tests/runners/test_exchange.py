"""The files between Hookline and a hook: private, where there is room, and gone when nobody needs them."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hookline.runners import exchange as module
from hookline.runners.exchange import REPLY_LIMIT, CallFiles, Exchange, NoRoomError, UnreadableReplyError
from waiting import count_descriptors

Bases = Callable[..., None]


@pytest.fixture
def use_bases(monkeypatch: pytest.MonkeyPatch) -> Bases:
    """Lets a test say where folders may be made, instead of in the system's memory."""

    def use(*bases: Path) -> None:
        monkeypatch.setattr(module, "_usable_bases", lambda _: bases)

    return use


@pytest.fixture
def base(tmp_path: Path, use_bases: Bases) -> Path:
    """The one place where folders may be made."""
    use_bases(tmp_path / "base")
    return tmp_path / "base"


@pytest.fixture
def exchange(base: Path) -> Iterator[Exchange]:
    exchange = Exchange(base)
    yield exchange
    exchange.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system with room for 64 KiB."""
    if os.geteuid() != 0 or sys.platform != "linux":
        pytest.skip("needs the right to mount a small file system")
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)], check=False)
    if mounted.returncode != 0:
        pytest.skip("this root may not mount")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def folders_in(base: Path) -> list[Path]:
    return [entry for entry in base.iterdir() if entry.is_dir()]


# The files


def test_a_call_has_its_payload_and_an_empty_reply(exchange: Exchange) -> None:
    files = exchange.open_call(b'{"a": 1}')
    assert files.payload.read_bytes() == b'{"a": 1}'
    assert files.reply.read_bytes() == b""


def test_calls_share_a_folder_and_no_file(exchange: Exchange, base: Path) -> None:
    calls = [exchange.open_call(b"") for _ in range(50)]
    assert len({path for call in calls for path in (call.payload, call.reply)}) == 100
    assert len(folders_in(base)) == 1


def test_a_large_payload_is_written_whole(exchange: Exchange) -> None:
    payload = os.urandom(1024) * 10 * 1024
    assert exchange.open_call(payload).payload.read_bytes() == payload


def test_discarded_files_are_gone(exchange: Exchange) -> None:
    files = exchange.open_call(b"{}")
    files.discard()
    assert not files.payload.exists()
    assert not files.reply.exists()


def test_files_that_are_gone_already_may_be_discarded(exchange: Exchange) -> None:
    files = exchange.open_call(b"{}")
    files.payload.unlink()
    files.discard()
    files.discard()
    assert not files.reply.exists()


def test_a_folder_in_place_of_a_file_is_discarded_with_all_it_holds(exchange: Exchange) -> None:
    files = exchange.open_call(b"{}")
    files.reply.unlink()
    (files.reply / "a" / "b").mkdir(parents=True)
    files.discard()
    assert not files.reply.exists()


def test_a_link_in_place_of_a_file_is_discarded_and_its_target_kept(exchange: Exchange, tmp_path: Path) -> None:
    target = tmp_path / "target"
    (target / "kept").mkdir(parents=True)
    files = exchange.open_call(b"{}")
    files.reply.unlink()
    files.reply.symlink_to(target)
    files.discard()
    assert not files.reply.is_symlink()
    assert (target / "kept").exists()


def test_closing_removes_the_folder(exchange: Exchange, base: Path) -> None:
    exchange.open_call(b"{}")
    exchange.close()
    assert folders_in(base) == []


def test_after_closing_there_is_no_room(exchange: Exchange) -> None:
    exchange.open_call(b"{}")
    exchange.close()
    with pytest.raises(NoRoomError, match="closed"):
        exchange.open_call(b"{}")


def test_calls_and_closing_leave_no_descriptor(exchange: Exchange) -> None:
    before = count_descriptors()
    for _ in range(100):
        files = exchange.open_call(b"{}")
        files.read_reply()
        files.discard()
    exchange.close()
    assert count_descriptors() == before


def test_an_exchange_that_was_never_used_leaves_nothing(base: Path) -> None:
    Exchange(base).close()
    assert not base.exists()


# Privacy


@pytest.fixture
def open_umask() -> Iterator[None]:
    """New files are open to everybody unless their maker says otherwise."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("open_umask")
def test_the_folders_are_closed_to_others(exchange: Exchange, base: Path) -> None:
    files = exchange.open_call(b"{}")
    assert mode_of(base) == 0o700
    assert mode_of(files.payload.parent) == 0o700


@pytest.mark.usefixtures("open_umask")
def test_every_file_is_closed_to_others(exchange: Exchange, base: Path) -> None:
    exchange.open_call(b"{}")
    modes = {path.relative_to(base).name: mode_of(path) for path in base.rglob("*") if path.is_file()}
    assert len(modes) >= 2
    assert {name: mode for name, mode in modes.items() if mode != 0o600} == {}


def test_an_open_base_is_closed_before_use(exchange: Exchange, base: Path) -> None:
    base.mkdir()
    base.chmod(0o777)
    exchange.open_call(b"{}")
    assert mode_of(base) == 0o700


def test_a_link_in_place_of_the_base_is_not_followed(exchange: Exchange, base: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    base.symlink_to(target)
    with pytest.raises(NoRoomError):
        exchange.open_call(b"{}")
    assert list(target.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a folder that belongs to somebody else")
def test_a_base_of_somebody_else_is_not_used(exchange: Exchange, base: Path) -> None:
    base.mkdir()
    os.chown(base, 54321, 54321)
    with pytest.raises(NoRoomError, match="somebody else"):
        exchange.open_call(b"{}")
    assert list(base.iterdir()) == []


# Room


def test_a_payload_goes_to_the_first_place_with_room(small_disk: Path, tmp_path: Path, use_bases: Bases) -> None:
    use_bases(small_disk / "base", tmp_path / "disk")
    exchange = Exchange(tmp_path)
    small, large = exchange.open_call(b"x" * 1000), exchange.open_call(b"x" * 100_000)
    assert small.payload.is_relative_to(small_disk)
    assert large.payload.is_relative_to(tmp_path / "disk")
    assert large.payload.read_bytes() == b"x" * 100_000
    exchange.close()


def test_a_payload_that_found_no_room_leaves_the_room_there_was(
    small_disk: Path, tmp_path: Path, use_bases: Bases
) -> None:
    use_bases(small_disk / "base", tmp_path / "disk")
    exchange = Exchange(tmp_path)
    exchange.open_call(b"x" * 100_000)
    assert exchange.open_call(b"x" * 20_000).payload.is_relative_to(small_disk)
    exchange.close()


def test_a_place_that_is_none_is_passed_over(tmp_path: Path, use_bases: Bases) -> None:
    (tmp_path / "file").touch()
    use_bases(tmp_path / "file" / "base", tmp_path / "disk")
    exchange = Exchange(tmp_path)
    assert exchange.open_call(b"{}").payload.is_relative_to(tmp_path / "disk")
    exchange.close()


def test_without_any_room_all_places_and_reasons_are_named(small_disk: Path, tmp_path: Path, use_bases: Bases) -> None:
    (tmp_path / "file").touch()
    use_bases(small_disk / "base", tmp_path / "file" / "base")
    exchange = Exchange(tmp_path)
    with pytest.raises(NoRoomError) as caught:
        exchange.open_call(b"x" * 100_000)
    assert f"{small_disk / 'base'}: No space left on device" in str(caught.value)
    assert f"{tmp_path / 'file' / 'base'}: Not a directory" in str(caught.value)
    exchange.close()


def test_a_folder_that_was_cleaned_away_costs_no_call(tmp_path: Path, use_bases: Bases) -> None:
    use_bases(tmp_path / "memory", tmp_path / "disk")
    exchange = Exchange(tmp_path)
    exchange.open_call(b"{}")
    subprocess.run(["rm", "-r", str(tmp_path / "memory")], check=True)
    payloads = [exchange.open_call(b"{}").payload for _ in range(2)]
    assert [payload.read_bytes() for payload in payloads] == [b"{}", b"{}"]
    assert payloads[1].is_relative_to(tmp_path / "memory")
    exchange.close()


# Leftovers

HOST = """
import sys, time
from pathlib import Path
from hookline.runners import exchange
base = Path(sys.argv[1])
exchange._usable_bases = lambda _: (base,)
kept = exchange.Exchange(base)
files = kept.open_call(b"{}")
print(files.payload, flush=True)
time.sleep(300)
"""


@pytest.fixture
def host(base: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Another process that uses the same base, and its folder."""
    with subprocess.Popen([sys.executable, "-c", HOST, str(base)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process, Path(process.stdout.readline().strip()).parent
        process.kill()


def test_what_a_killed_process_left_is_swept(host: tuple[subprocess.Popen[str], Path], exchange: Exchange) -> None:
    process, folder = host
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert len(list(folder.iterdir())) == 3
    exchange.open_call(b"{}")
    assert not folder.exists()


def test_what_a_living_process_uses_is_left_alone(host: tuple[subprocess.Popen[str], Path], exchange: Exchange) -> None:
    process, folder = host
    exchange.open_call(b"{}")
    assert process.poll() is None
    assert len(list(folder.iterdir())) == 3


def test_what_a_stopped_process_uses_is_left_alone(
    host: tuple[subprocess.Popen[str], Path], exchange: Exchange
) -> None:
    process, folder = host
    process.send_signal(signal.SIGSTOP)
    exchange.open_call(b"{}")
    assert len(list(folder.iterdir())) == 3


def test_what_another_engine_of_this_process_uses_is_left_alone(exchange: Exchange, base: Path) -> None:
    files = exchange.open_call(b"{}")
    other = Exchange(base)
    other.open_call(b"{}")
    assert files.payload.exists()
    other.close()
    assert files.payload.exists()


def test_a_folder_of_a_process_that_died_while_making_it_is_swept(exchange: Exchange, base: Path) -> None:
    base.mkdir(mode=0o700)
    (base / "tmpabcdefgh").mkdir(mode=0o700)
    exchange.open_call(b"{}")
    assert not (base / "tmpabcdefgh").exists()


def test_a_link_among_the_leftovers_is_not_followed(exchange: Exchange, base: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    (target / "lock").touch()
    base.mkdir(mode=0o700)
    (base / "tmpabcdefgh").symlink_to(target)
    exchange.open_call(b"{}")
    assert (target / "lock").exists()


# Replies


@pytest.fixture
def files(exchange: Exchange) -> CallFiles:
    return exchange.open_call(b"{}")


def test_a_reply_that_was_not_written_is_empty(files: CallFiles) -> None:
    assert files.read_reply() == b""


@pytest.mark.parametrize("reply", [b'{"action": "block"}', b"\xff\xfe", b"\0"])
def test_a_reply_is_what_was_written(files: CallFiles, reply: bytes) -> None:
    files.reply.write_bytes(reply)
    assert files.read_reply() == reply


def test_a_reply_that_was_moved_into_place_is_read(files: CallFiles, tmp_path: Path) -> None:
    (tmp_path / "new").write_bytes(b"{}")
    (tmp_path / "new").replace(files.reply)
    assert files.read_reply() == b"{}"


def test_a_reply_of_the_largest_size_is_read(files: CallFiles) -> None:
    files.reply.write_bytes(b"x" * REPLY_LIMIT)
    assert len(files.read_reply()) == 1024 * 1024


def test_a_larger_reply_is_unreadable(files: CallFiles) -> None:
    files.reply.write_bytes(b"x" * (REPLY_LIMIT + 1))
    with pytest.raises(UnreadableReplyError, match="larger than 1048576 bytes"):
        files.read_reply()


def test_a_removed_reply_is_unreadable(files: CallFiles) -> None:
    files.reply.unlink()
    with pytest.raises(UnreadableReplyError):
        files.read_reply()


def test_a_reply_in_a_removed_folder_is_unreadable(files: CallFiles) -> None:
    subprocess.run(["rm", "-r", str(files.reply.parent)], check=True)
    with pytest.raises(UnreadableReplyError):
        files.read_reply()


@pytest.mark.parametrize("is_open", [False, True], ids=["nobody-writes", "somebody-may-write"])
def test_a_fifo_is_unreadable_and_not_waited_for(files: CallFiles, is_open: bool) -> None:
    files.reply.unlink()
    os.mkfifo(files.reply)
    writer = os.open(files.reply, os.O_RDWR) if is_open else None
    try:
        with pytest.raises(UnreadableReplyError):
            files.read_reply()
    finally:
        if writer is not None:
            os.close(writer)


@pytest.mark.parametrize("target", ["file", "nowhere", "/dev/zero"])
def test_a_link_is_unreadable_and_not_followed(files: CallFiles, tmp_path: Path, target: str) -> None:
    (tmp_path / "file").write_text("{}")
    files.reply.unlink()
    files.reply.symlink_to(tmp_path / target)
    with pytest.raises(UnreadableReplyError, match="symbolic link"):
        files.read_reply()


def test_a_directory_is_unreadable(files: CallFiles) -> None:
    files.reply.unlink()
    files.reply.mkdir()
    with pytest.raises(UnreadableReplyError):
        files.read_reply()


@pytest.mark.parametrize("kind", ["fifo", "link", "directory", "gone", "large"])
def test_an_unreadable_reply_leaves_no_descriptor(files: CallFiles, kind: str) -> None:
    files.reply.unlink()
    make = {
        "fifo": lambda: os.mkfifo(files.reply),
        "link": lambda: files.reply.symlink_to("nowhere"),
        "directory": files.reply.mkdir,
        "gone": lambda: None,
        "large": lambda: files.reply.write_bytes(b"x" * 2 * REPLY_LIMIT),
    }
    make[kind]()
    before = count_descriptors()
    for _ in range(5):
        with pytest.raises((UnreadableReplyError, OSError)):
            files.read_reply()
    assert count_descriptors() == before
