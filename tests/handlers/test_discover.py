"""What several providers find, as one list: section 2 of the module contract."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Collection, Sequence
from pathlib import Path
from typing import Any, TypeVar

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.errors import ConfigError
from hookline.handlers.discover import (
    Discovery,
    Finding,
    Found,
    HookItem,
    Provider,
    SkippedFile,
    discover,
    discover_sync,
)
from properties import steady

CWD = Path("/cwd")
T = TypeVar("T")


def make_item(name: str = "a.py", **changes: Any) -> HookItem:
    fields: dict[str, Any] = {"type": "pre", "tool": "bash", "path": Path("/hooks") / name, **changes}
    return HookItem(name=name, **fields)


def make_keyless(name: str = "a.py", **changes: Any) -> HookItem:
    return make_item(name, type=None, tool=None, **changes)


class PlainProvider:
    """Answers at once, or raises."""

    def __init__(self, name: str, answer: object = (), *, priority: float = 0) -> None:
        self.name = name
        self.priority = priority
        self.answer = answer
        self.asked_for: list[Path] = []

    def load(self, cwd: Path) -> Finding:
        self.asked_for.append(cwd)
        return give(self.answer)


class AsyncProvider(PlainProvider):
    """The same, awaited."""

    async def load(self, cwd: Path) -> Finding:  # type: ignore[override]
        await anyio.lowlevel.checkpoint()
        return super().load(cwd)


def give(answer: Any) -> Any:
    if isinstance(answer, BaseException):
        raise answer
    return answer


def run_async(providers: Sequence[Provider], *, disabled_ids: Collection[str] = ()) -> Discovery:
    return asyncio.run(discover(providers, CWD, disabled_ids=disabled_ids))


def run_sync(providers: Sequence[Provider], *, disabled_ids: Collection[str] = ()) -> Discovery:
    return discover_sync(providers, CWD, disabled_ids=disabled_ids)


def run_sync_on_a_loop(providers: Sequence[Provider], *, disabled_ids: Collection[str] = ()) -> Discovery:
    async def run() -> Discovery:
        return discover_sync(providers, CWD, disabled_ids=disabled_ids)

    return asyncio.run(run())


def run_on_trio(providers: Sequence[Provider], *, disabled_ids: Collection[str] = ()) -> Discovery:
    async def run() -> Discovery:
        return await discover(providers, CWD, disabled_ids=disabled_ids)

    return anyio.run(run, backend="trio")


Run = Callable[..., Discovery]


@pytest.fixture(params=[run_async, run_sync, run_sync_on_a_loop, run_on_trio], ids=lambda run: run.__name__)
def run(request: pytest.FixtureRequest) -> Run:
    found: Run = request.param
    return found


@pytest.fixture(params=[PlainProvider, AsyncProvider])
def make_provider(request: pytest.FixtureRequest) -> type[PlainProvider]:
    found: type[PlainProvider] = request.param
    return found


def test_the_key_of_an_item_is_type_tool_and_name() -> None:
    assert make_item("bash.py").key == "pre:bash:bash.py"


def test_the_id_of_an_item_is_its_key_after_hook() -> None:
    assert make_item("bash.py").id == "hook:pre:bash:bash.py"


@pytest.mark.parametrize("missing", [{"type": None}, {"tool": None}])
def test_an_item_without_type_or_tool_has_no_key_and_still_an_id(missing: dict[str, Any]) -> None:
    item = make_item("bash.py", **missing)
    assert (item.key, item.id) == (None, "hook:bash.py")


def test_the_first_of_a_key_counts_and_the_second_is_shadowed(run: Run, make_provider: type[PlainProvider]) -> None:
    """Case 37: provider priority 9 item a, priority 1 item a."""
    low = make_provider("low", [make_item("a", path=Path("/low/a"))], priority=1)
    high = make_provider("high", [make_item("a", path=Path("/high/a"))], priority=9)
    found = run([low, high])
    assert [item.path for item in found.items] == [Path("/high/a")]
    assert [(item.path, item.is_shadowed) for item in found.all_items] == [
        (Path("/high/a"), False),
        (Path("/low/a"), True),
    ]


def test_two_items_without_a_key_are_both_kept(run: Run, make_provider: type[PlainProvider]) -> None:
    """Case 37: two items without key both kept."""
    found = run([make_provider("one", [make_keyless()]), make_provider("two", [make_keyless()])])
    assert [item.provider for item in found.items] == ["one", "two"]


def test_a_shadowed_item_names_the_provider_that_shadows_it(run: Run) -> None:
    found = run([PlainProvider(name, [make_item()]) for name in ("one", "two", "three")])
    assert [item.shadowed_by for item in found.all_items] == [None, "one", "one"]


def test_an_item_shadows_another_of_the_same_provider() -> None:
    found = run_sync([PlainProvider("one", [make_item(), make_item()])])
    assert [item.shadowed_by for item in found.all_items] == [None, "one"]


@pytest.mark.parametrize("change", [{"type": "post"}, {"tool": "edit"}, {"name": "b.py"}])
def test_items_that_differ_in_a_part_of_the_key_both_count(change: dict[str, Any]) -> None:
    found = run_sync([PlainProvider("one", [make_item(), make_item(**change)])])
    assert len(found.items) == 2


def test_providers_come_by_priority_the_higher_first(run: Run) -> None:
    found = run([PlainProvider(str(n), [make_keyless()], priority=n) for n in (1, 9, -3, 4)])
    assert [item.provider for item in found.items] == ["9", "4", "1", "-3"]


def test_providers_of_equal_priority_come_in_the_order_of_registration(run: Run) -> None:
    found = run([PlainProvider(name, [make_keyless()], priority=5) for name in ("c", "a", "b")])
    assert [item.provider for item in found.items] == ["c", "a", "b"]


def test_items_are_merged_in_the_order_of_providers_and_not_of_completion() -> None:
    async def main() -> Discovery:
        second_is_done = asyncio.Event()

        class First(PlainProvider):
            async def load(self, cwd: Path) -> Finding:  # type: ignore[override]
                await second_is_done.wait()
                return super().load(cwd)

        class Second(PlainProvider):
            async def load(self, cwd: Path) -> Finding:  # type: ignore[override]
                second_is_done.set()
                return super().load(cwd)

        return await discover([First("first", [make_item()]), Second("second", [make_item()])], CWD)

    found = asyncio.run(main())
    assert [item.provider for item in found.all_items] == ["first", "second"]


def test_async_providers_load_at_the_same_time(run: Run) -> None:
    arrived: list[str] = []

    class Meeting(PlainProvider):
        async def load(self, cwd: Path) -> Finding:  # type: ignore[override]
            arrived.append(self.name)
            with anyio.fail_after(10):
                while len(arrived) < 3:
                    await anyio.sleep(0.001)
            return []

    assert run([Meeting("a"), Meeting("b"), Meeting("c")]).warnings == ()


def test_plain_providers_load_at_the_same_time_and_off_the_loop() -> None:
    meeting = threading.Barrier(3, timeout=10)
    on_loop = threading.get_ident()

    class Meeting(PlainProvider):
        def load(self, cwd: Path) -> Finding:
            assert threading.get_ident() != on_loop
            meeting.wait()
            return []

    assert run_async([Meeting("a"), Meeting("b"), Meeting("c")]).warnings == ()


def test_each_provider_is_asked_for_the_folder(run: Run, make_provider: type[PlainProvider]) -> None:
    provider = make_provider("one")
    run([provider])
    assert provider.asked_for == [CWD]


def test_a_plain_function_may_answer_with_something_to_await(run: Run) -> None:
    inner = AsyncProvider("inner", [make_item()])

    class Outer(PlainProvider):
        def load(self, cwd: Path) -> Awaitable[Finding]:  # type: ignore[override]
            return inner.load(cwd)

    assert len(run([Outer("outer")]).items) == 1


@pytest.mark.parametrize(
    "error", [OSError("disk gone"), SystemExit(3), asyncio.CancelledError("by itself")], ids=lambda e: type(e).__name__
)
def test_a_provider_that_raises_is_a_warning_and_stops_nobody(error: BaseException) -> None:
    found = run_async([AsyncProvider("bad", error, priority=9), AsyncProvider("good", [make_item()])])
    assert [item.provider for item in found.items] == ["good"]
    assert found.warnings == (
        f"provider 'bad': it failed with {type(error).__name__}: {error}; none of its hooks are there",
    )


def test_a_provider_of_any_kind_that_raises_is_a_warning(run: Run, make_provider: type[PlainProvider]) -> None:
    found = run([make_provider("bad", OSError("disk gone")), make_provider("good", [make_item()])])
    assert [item.provider for item in found.items] == ["good"]
    assert found.warnings == ("provider 'bad': it failed with OSError: disk gone; none of its hooks are there",)


def test_an_error_whose_text_raises_is_a_warning_too() -> None:
    class BadTextError(Exception):
        def __str__(self) -> str:
            raise ValueError

    found = run_sync([PlainProvider("bad", BadTextError())])
    assert found.warnings == ("provider 'bad': it failed with BadTextError; none of its hooks are there",)


def test_something_that_is_no_provider_stops_nobody(run: Run) -> None:
    class Nothing:
        name = "nothing"
        priority = 1

    nothing: Any = Nothing()
    found = run([nothing, PlainProvider("good", [make_item()])])
    assert len(found.items) == 1
    assert "AttributeError" in found.warnings[0]


def test_a_discovery_that_is_cancelled_ends() -> None:
    async def main() -> bool:
        started = asyncio.Event()
        ended: list[str] = []

        class Endless(PlainProvider):
            async def load(self, cwd: Path) -> Finding:  # type: ignore[override]
                started.set()
                try:
                    await asyncio.Event().wait()
                finally:
                    ended.append(self.name)
                return []

        task = asyncio.create_task(discover([Endless("a"), Endless("b")], CWD))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(0)
        return sorted(ended) == ["a", "b"]

    assert asyncio.run(main())


@pytest.mark.parametrize("answer", [None, 42, "items", Found(items=None)])  # type: ignore[arg-type]
def test_an_answer_that_is_no_list_is_a_warning(run: Run, answer: object) -> None:
    found = run([PlainProvider("bad", answer), PlainProvider("good", [make_item()])])
    assert len(found.items) == 1
    assert found.warnings == (f"provider 'bad': it answered with {type(answer).__name__} instead of a list of items",)


@pytest.mark.parametrize(
    ("item", "fault"),
    [
        ({"name": "a"}, "it is dict, not a HookItem"),
        (make_item(""), "its name is '', not a text"),
        (make_item("a", path=Path("rel/a")), "the path of 'a' is 'rel/a', not an absolute Path"),
        (make_item("a", path="/a"), "the path of 'a' is '/a', not an absolute Path"),
        (make_item("a", type="during"), "the type of 'a' is 'during'; it must be one of pre, post"),
        (make_item("a", tool=""), "the tool of 'a' is '', not a text"),
        (make_item("a", kind="dll"), "the kind of 'a' is 'dll'; it must be one of module, script, program"),
        (make_item("a", layer="moon"), "the layer of 'a' is 'moon'; it must be one of project, user, code"),
        (
            make_keyless("a", kind="script"),
            "'a' is a script without a type or a tool, so that nothing says when it runs",
        ),
    ],
)
def test_an_invalid_item_is_left_out_with_a_warning(item: Any, fault: str) -> None:
    found = run_sync([PlainProvider("one", [make_item("good"), item])])
    assert [item.name for item in found.all_items] == ["good"]
    assert found.warnings == (f"provider 'one': item 2 is left out: {fault}",)


def test_an_invalid_item_cannot_hide_a_valid_one(run: Run) -> None:
    """F: an invalid item is dropped before de-duplication."""
    invalid = make_item(path=Path("rel/a"))
    valid = make_item()
    assert invalid.key == valid.key
    found = run([PlainProvider("bad", [invalid], priority=9), PlainProvider("good", [valid])])
    assert [(item.provider, item.is_shadowed) for item in found.all_items] == [("good", False)]


def test_a_disabled_item_is_in_no_list_of_items(run: Run) -> None:
    found = run([PlainProvider("one", [make_item("bash.py")])], disabled_ids=["hook:pre:bash:bash.py"])
    assert (found.items, found.all_items) == ((), ())
    assert [item.id for item in found.disabled] == ["hook:pre:bash:bash.py"]


def test_a_disabled_id_takes_out_the_items_of_all_providers() -> None:
    """Disabled ids are dropped before de-duplication: what would be hidden does not come forth."""
    providers = [PlainProvider(name, [make_item("bash.py"), make_item("b.py")]) for name in ("one", "two")]
    found = run_sync(providers, disabled_ids={"hook:pre:bash:bash.py"})
    assert {item.name for item in found.all_items} == {"b.py"}


def test_a_disabled_item_without_a_key_does_not_count() -> None:
    found = run_sync([PlainProvider("one", [make_keyless("a.py")])], disabled_ids=["hook:a.py"])
    assert found.items == ()


def test_disabled_ids_that_are_a_text_are_refused() -> None:
    with pytest.raises(ConfigError, match="it must be a list of ids"):
        run_sync([], disabled_ids="hook:pre:bash:bash.py")


def test_warnings_and_skipped_files_of_all_providers_are_kept_in_order(run: Run) -> None:
    files = [SkippedFile(path=Path("/x"), reason="why"), SkippedFile(path=Path("/y"), reason="why")]
    found = run(
        [
            PlainProvider("low", Found(warnings=["l"], skipped=[files[1]])),
            PlainProvider("high", Found(warnings=["h"], skipped=[files[0]]), priority=1),
        ]
    )
    assert found.warnings == ("provider 'high': h", "provider 'low': l")
    assert found.skipped == tuple(files)


def test_providers_that_contribute_are_named_once_in_order() -> None:
    found = run_sync(
        [
            PlainProvider("empty", []),
            PlainProvider("shadowed", [make_item(), make_item("b.py")], priority=1),
            PlainProvider("first", [make_item()], priority=2),
            PlainProvider("disabled", [make_item("off.py")], priority=3),
            PlainProvider("invalid", [make_item(tool="")], priority=4),
        ],
        disabled_ids=["hook:pre:bash:off.py"],
    )
    assert found.providers == ("first", "shadowed")


def test_what_a_provider_says_of_its_name_and_of_shadows_does_not_count() -> None:
    found = run_sync([PlainProvider("true", [make_item(provider="false", shadowed_by="false")])])
    assert [(item.provider, item.is_shadowed) for item in found.items] == [("true", False)]


def test_no_providers_find_nothing(run: Run) -> None:
    assert run([]) == Discovery()


items = st.builds(
    lambda name, tool: make_item(name, tool=tool), st.sampled_from("ab"), st.sampled_from(["bash", "edit", None])
)
sets_of_providers = st.lists(st.tuples(st.integers(0, 3), st.lists(items, max_size=4)), max_size=5)


@steady
@given(sets_of_providers, st.sets(st.sampled_from(["hook:pre:bash:a", "hook:pre:edit:b", "hook:a"])))
def test_every_item_counts_unless_one_before_it_has_its_key(
    drawn: list[tuple[int, list[HookItem]]], disabled: set[str]
) -> None:
    providers = [PlainProvider(str(n), found, priority=priority) for n, (priority, found) in enumerate(drawn)]
    result = run_sync(providers, disabled_ids=disabled)
    in_order = sorted(range(len(drawn)), key=lambda n: (-drawn[n][0], n))
    expected = [(str(n), item.id) for n in in_order for item in drawn[n][1] if item.id not in disabled]
    assert [(item.provider, item.id) for item in result.all_items] == expected
    keys = [item.key for item in result.all_items]
    assert [item.is_shadowed for item in result.all_items] == [
        key is not None and key in keys[:index] for index, key in enumerate(keys)
    ]
    assert result.items == tuple(item for item in result.all_items if not item.is_shadowed)
    assert len(result.all_items) + len(result.disabled) == sum(len(found) for _, found in drawn)


@steady
@given(sets_of_providers)
def test_awaiting_and_not_awaiting_find_the_same(drawn: list[tuple[int, list[HookItem]]]) -> None:
    providers = [PlainProvider(str(n), found, priority=priority) for n, (priority, found) in enumerate(drawn)]
    assert run_sync(providers) == run_async(providers)
