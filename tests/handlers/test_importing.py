"""From files to modules and their factories: section 2 of the module contract."""

from __future__ import annotations

import gc
import hashlib
import inspect
import os
import pickle
import sys
import traceback
import weakref
from pathlib import Path
from types import ModuleType

import pytest

from hookline.handlers.discover import HookItem
from hookline.handlers.importing import (
    MAX_SOURCE_SIZE,
    UnloadableModuleError,
    find_factory,
    forget_module,
    import_file,
    load_order,
)

GOOD = "def hook(api): ...\n"
DATACLASSES = """
from __future__ import annotations
import dataclasses, pickle, typing

@dataclasses.dataclass
class Point:
    x: int
    kind: typing.ClassVar[str] = "point"

HINTS = typing.get_type_hints(Point)
COPY = pickle.loads(pickle.dumps(Point(x=1)))

def hook(api): ...
"""


def put(path: Path, text: str = GOOD) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "guard.py"


@pytest.fixture(autouse=True)
def _leaves_no_module() -> object:
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.startswith("_hookline_module"):
            del sys.modules[name]


def list_private() -> set[str]:
    return {name for name in sys.modules if name.startswith("_hookline_module")}


def refuse(path: Path, *, expected_sha256: str | None = None) -> str:
    """Why a file cannot be loaded; nothing of it stays behind."""
    before = set(sys.modules)
    with pytest.raises(UnloadableModuleError) as caught:
        find_factory(import_file(path, expected_sha256=expected_sha256))
    assert {name for name in set(sys.modules) - before if "guard" in name} == set()
    return str(caught.value)


def refuse_text(file: Path, text: str) -> str:
    return refuse(put(file, text))


def test_the_factory_of_a_file_is_found(file: Path) -> None:
    factory = find_factory(import_file(put(file, "def hook(api): return api + 1\n")))
    assert factory(1) == 2


def test_an_async_factory_is_found(file: Path) -> None:
    """F: async factories are not half-loaded."""
    factory = find_factory(import_file(put(file, "async def hook(api): ...\n")))
    assert inspect.iscoroutinefunction(factory)


def test_a_factory_may_be_any_callable(file: Path) -> None:
    assert callable(find_factory(import_file(put(file, "import functools\nhook = functools.partial(print)\n"))))


def test_one_of_six_files_loads_and_five_say_why_in_order(tmp_path: Path) -> None:
    """Case 33: all but the factory that raises, which is called elsewhere."""
    texts = {"good": GOOD, "none": "x = 1\n", "value": "hook = 42\n", "syntax": "def hook(api:\n"}
    paths = [put(tmp_path / f"{name}.py", text) for name, text in texts.items()]
    loaded, errors = [], []
    for path in [*paths, tmp_path / "missing.py"]:
        try:
            loaded.append(find_factory(import_file(path)))
        except UnloadableModuleError as error:
            errors.append((error.path.name, str(error)))
    assert len(loaded) == 1
    assert errors == [
        ("none.py", f"{tmp_path}/none.py: it has no function hook; define `def hook(api): ...`"),
        (
            "value.py",
            f"{tmp_path}/value.py: its hook is 42, of type int, not a function; define `def hook(api): ...`",
        ),
        ("syntax.py", f"{tmp_path}/syntax.py:1: SyntaxError: '(' was never closed"),
        ("missing.py", f"{tmp_path}/missing.py: there is no such file"),
    ]


def test_two_files_of_one_name_do_not_collide(tmp_path: Path) -> None:
    """F: modules load under a private name, so that two files with one name do not collide."""
    first = import_file(put(tmp_path / "a" / "guard.py", "value = 1\n" + GOOD))
    second = import_file(put(tmp_path / "b" / "guard.py", "value = 2\n" + GOOD))
    assert (first.value, second.value) == (1, 2)
    assert first.__name__ != second.__name__


def test_a_file_named_like_a_module_of_python_hides_nothing(tmp_path: Path) -> None:
    json = sys.modules["json"]
    module = import_file(put(tmp_path / "json.py", "import json\nvalue = json.dumps([])\n" + GOOD))
    assert module.value == "[]"
    assert sys.modules["json"] is json


def test_a_reload_is_a_new_module_with_the_new_content(file: Path) -> None:
    """F: modules are loaded anew on reload; content of the same size in the same second is no exception."""
    first = import_file(put(file, "value = 1\n"))
    second = import_file(put(file, "value = 2\n"))
    assert (first.value, second.value) == (1, 2)


def test_a_module_is_known_to_python_by_its_private_name_alone(file: Path) -> None:
    before = set(sys.modules)
    module = import_file(put(file))
    assert set(sys.modules) - before == {module.__name__}
    assert sys.modules[module.__name__] is module


def test_dataclasses_pickle_and_typing_work_inside(file: Path) -> None:
    module = import_file(put(file, DATACLASSES))
    assert module.Point(x=1) == module.COPY
    assert module.HINTS["x"] is int
    assert pickle.loads(pickle.dumps(module.COPY)) == module.COPY


def test_a_module_knows_its_file(file: Path) -> None:
    module = import_file(put(file, "here = __file__\n" + GOOD))
    assert module.here == str(file)
    assert module.__spec__ is not None
    assert module.__spec__.origin == str(file)


def test_the_futures_of_the_importer_are_not_those_of_the_module(file: Path) -> None:
    module = import_file(put(file, "def f(a: int): ...\n"))
    assert module.f.__annotations__ == {"a": int}


def test_a_name_that_is_no_identifier_can_be_loaded(tmp_path: Path) -> None:
    assert find_factory(import_file(put(tmp_path / "my guard-1.x.py")))


def test_nothing_is_written_beside_the_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    import_file(put(file))
    assert list(file.parent.iterdir()) == [file]


def test_the_folder_of_the_file_is_no_place_to_import_from(file: Path) -> None:
    put(file.parent / "hookline_neighbour.py")
    before = list(sys.path)
    assert "ModuleNotFoundError: No module named 'hookline_neighbour'" in refuse_text(
        file, "import hookline_neighbour\n"
    )
    assert sys.path == before


def test_a_relative_import_says_what_is_wrong(file: Path) -> None:
    assert refuse_text(file, "from . import x\n") == (
        f"{file}:1: importing it raised ImportError: attempted relative import with no known parent package"
    )


def test_content_with_the_expected_digest_runs(file: Path) -> None:
    digest = hashlib.sha256(put(file).read_bytes()).hexdigest()
    assert find_factory(import_file(file, expected_sha256=digest))


def test_content_with_another_digest_does_not_run(file: Path, tmp_path: Path) -> None:
    put(file, f"import pathlib\npathlib.Path({str(tmp_path / 'ran')!r}).touch()\n{GOOD}")
    assert refuse(file, expected_sha256=hashlib.sha256(b"").hexdigest()) == (
        f"{file}: its content is not the one that was trusted; look at it, then trust it anew"
    )
    assert not (tmp_path / "ran").exists()


def test_what_runs_is_what_was_read_though_the_file_changes_itself(file: Path) -> None:
    text = "import pathlib\npathlib.Path(__file__).write_text('hook = 42')\n" + GOOD
    digest = hashlib.sha256(text.encode()).hexdigest()
    assert find_factory(import_file(put(file, text), expected_sha256=digest))


def test_a_module_is_forgotten_for_good(file: Path) -> None:
    module = import_file(put(file))
    forget_module(module)
    assert list_private() == set()
    gone = weakref.ref(module)
    del module
    gc.collect()
    assert gone() is None


def test_a_module_that_takes_another_name_is_forgotten_too(file: Path) -> None:
    forget_module(import_file(put(file, "__name__ = 'json'\n" + GOOD)))
    assert list_private() == set()
    assert "json" in sys.modules


def test_forgetting_leaves_modules_of_others_alone() -> None:
    forget_module(os)
    forget_module(ModuleType("nothing"))
    assert sys.modules["os"] is os


def test_a_folder_is_no_module(file: Path) -> None:
    file.mkdir()
    assert refuse(file) == f"{file}: it cannot be read: this is not a regular file"


def test_a_fifo_is_no_module_and_is_not_waited_for(file: Path) -> None:
    os.mkfifo(file)
    assert refuse(file) == f"{file}: it cannot be read: this is not a regular file"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_that_may_not_be_read_is_refused(file: Path) -> None:
    put(file).chmod(0o000)
    assert refuse(file) == f"{file}: it cannot be read: Permission denied"


def test_a_path_through_a_file_is_refused(file: Path) -> None:
    put(file)
    assert refuse(file / "x.py") == f"{file}/x.py: it cannot be read: Not a directory"


def test_a_path_with_nul_is_refused() -> None:
    assert refuse(Path("/a\0b")).startswith("/a\0b: it cannot be read: embedded null")


def test_a_broken_link_is_refused(file: Path) -> None:
    file.symlink_to("gone.py")
    assert refuse(file) == f"{file}: there is no such file"


def test_a_file_that_is_too_large_is_refused(file: Path) -> None:
    with file.open("wb") as large:
        large.truncate(MAX_SOURCE_SIZE + 1)
    assert refuse(file) == f"{file}: it has more than {MAX_SOURCE_SIZE} bytes"


def test_a_file_that_is_not_utf8_is_refused(file: Path) -> None:
    file.write_bytes(b"x = 1\ny = 2\nname = '\xe9'\n")
    assert refuse(file) == f"{file}:3: byte 0xe9 is not UTF-8; save the file as UTF-8"


def test_a_file_may_declare_another_encoding_as_in_python(file: Path) -> None:
    file.write_bytes(b"# coding: latin-1\nname = '\xe9'\n" + GOOD.encode())
    assert import_file(file).name == "é"


def test_a_file_that_declares_an_unknown_encoding_is_refused(file: Path) -> None:
    file.write_bytes(b"# coding: klingon\nname = '\xe9'\n")
    assert "klingon" in refuse(file)


def test_a_byte_order_mark_is_no_fault(file: Path) -> None:
    file.write_bytes(b"\xef\xbb\xbf" + GOOD.encode())
    assert find_factory(import_file(file))


def test_a_syntax_error_is_located(file: Path) -> None:
    assert refuse_text(file, "x = 1\n\nif x\n    y\n") == f"{file}:3: SyntaxError: expected ':'"


def test_bad_indentation_is_located(file: Path) -> None:
    assert refuse_text(file, "x = 1\n  y = 2\n") == f"{file}:2: IndentationError: unexpected indent"


def test_a_file_with_nul_is_refused(file: Path) -> None:
    assert "null byte" in refuse_text(file, "x = 1\0\n")


@pytest.mark.parametrize("text", ["(" * 100_000 + ")" * 100_000, "-" * 100_000 + "1"], ids=["brackets", "signs"])
def test_a_file_nested_too_deeply_is_refused(file: Path, text: str) -> None:
    assert refuse_text(file, f"x = {text}\n").startswith(f"{file}:")


def test_an_exception_at_import_is_named_with_its_line(file: Path) -> None:
    assert refuse_text(file, "x = {}\n\nx['key']\n") == f"{file}:3: importing it raised KeyError: 'key'"


def test_an_exception_from_deeper_is_named_with_the_last_line_in_the_file(file: Path) -> None:
    text = "import json\n\ndef read():\n    json.loads('[')\n\nread()\n"
    assert refuse_text(file, text).startswith(f"{file}:4: importing it raised JSONDecodeError: ")


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("import sys; sys.exit()", "SystemExit"),
        ("raise GeneratorExit", "GeneratorExit"),
        ("import asyncio; raise asyncio.CancelledError('mine')", "CancelledError: mine"),
        ("raise BaseExceptionGroup('many', [SystemExit()])", "BaseExceptionGroup: many (1 sub-exception)"),
        ("def f(): f()\nf()", "RecursionError: maximum recursion depth exceeded"),
    ],
)
def test_whatever_ends_an_import_is_reported(file: Path, statement: str, text: str) -> None:
    assert refuse_text(file, f"{statement}\n").split("raised ")[1].startswith(text)


def test_an_interrupt_of_the_user_goes_on_and_leaves_nothing(file: Path) -> None:
    put(file, "raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        import_file(file)
    assert list_private() == set()


def test_an_exception_whose_text_raises_is_named_by_its_type(file: Path) -> None:
    text = "class Bad(Exception):\n    def __str__(self): raise ValueError\nraise Bad\n"
    assert refuse_text(file, text) == f"{file}:3: importing it raised Bad"


def test_a_long_error_is_shortened(file: Path) -> None:
    assert len(refuse_text(file, "raise ValueError('x' * 10_000)\n")) < 1000


def test_the_cause_of_an_error_is_kept(file: Path) -> None:
    put(file, "raise KeyError('x')\n")
    with pytest.raises(UnloadableModuleError) as caught:
        import_file(file)
    assert isinstance(caught.value.__cause__, KeyError)
    assert "raise KeyError('x')" in "".join(traceback.format_exception(caught.value))
    assert (caught.value.path, caught.value.line) == (file, 1)


def test_a_failed_import_that_is_mended_loads(file: Path) -> None:
    refuse_text(file, "raise ValueError\n")
    assert find_factory(import_file(put(file)))


def test_a_hook_that_cannot_be_shown_is_refused(file: Path) -> None:
    text = "class Bad:\n    def __repr__(self): raise ValueError\nhook = Bad()\n"
    put(file, text)
    with pytest.raises(UnloadableModuleError, match="its hook is a value that cannot be shown, of type Bad"):
        find_factory(import_file(file))


def test_what_a_module_prints_is_left_alone(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import_file(put(file, "print('loading')\n" + GOOD))
    assert capsys.readouterr().out == "loading\n"


def make_item(path: Path, *, kind: str = "module") -> HookItem:
    return HookItem(name=path.name, path=path, type="pre", tool="bash", kind=kind)  # type: ignore[arg-type]


def test_discovered_modules_come_before_configured_ones() -> None:
    order = load_order([Path("/c/1.py"), Path("/c/2.py")], [make_item(Path("/d/1.py")), make_item(Path("/d/2.py"))])
    assert [str(file.path) for file in order] == ["/d/1.py", "/d/2.py", "/c/1.py", "/c/2.py"]


def test_a_configured_path_that_was_discovered_keeps_the_discovered_place() -> None:
    item = make_item(Path("/d/1.py"))
    order = load_order([Path("/c/1.py"), Path("/d/1.py")], [item, make_item(Path("/d/2.py"))])
    assert [str(file.path) for file in order] == ["/d/1.py", "/d/2.py", "/c/1.py"]
    assert (order[0].item, order[0].configured) == (item, (Path("/d/1.py"),))
    assert (order[2].item, order[2].configured) == (None, (Path("/c/1.py"),))


def test_paths_that_lead_to_one_file_are_one_module(tmp_path: Path) -> None:
    """F: de-duplicated by real path."""
    real = put(tmp_path / "real.py")
    link = tmp_path / "link.py"
    link.symlink_to(real)
    (tmp_path / "folder").symlink_to(tmp_path)
    order = load_order([link, tmp_path / "folder" / "real.py"], [make_item(real)])
    assert [file.path for file in order] == [real]
    assert order[0].configured == (link, tmp_path / "folder" / "real.py")


def test_two_configured_paths_of_one_file_keep_the_first_place(tmp_path: Path) -> None:
    real, other = put(tmp_path / "real.py"), put(tmp_path / "other.py")
    order = load_order([real, other, real], [])
    assert [file.path for file in order] == [real, other]


def test_two_items_of_one_file_are_one_module(tmp_path: Path) -> None:
    real = put(tmp_path / "real.py")
    link = tmp_path / "link.py"
    link.symlink_to(real)
    assert [file.path for file in load_order([], [make_item(link), make_item(real)])] == [link]


def test_a_file_that_is_missing_keeps_its_place() -> None:
    assert [str(file.path) for file in load_order([Path("/gone/b.py"), Path("/gone/a.py")], [])] == [
        "/gone/b.py",
        "/gone/a.py",
    ]


def test_scripts_are_no_modules_to_load() -> None:
    items = [make_item(Path("/d/a.sh"), kind="script"), make_item(Path("/d/a"), kind="program")]
    assert load_order([], items) == []


def test_a_script_that_is_configured_as_a_module_is_loaded_as_one() -> None:
    script = Path("/d/a.sh")
    assert [file.item for file in load_order([script], [make_item(script, kind="script")])] == [None]
