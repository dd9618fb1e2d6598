"""
What is suspicious about hooks that load: the checks of `hookline check` beyond what loading finds itself.

Looks at files and the search path, and never runs anything.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from hookline.config.file import LoadedFile
from hookline.dialects.base import Dialect
from hookline.dialects.entry import TOOL_KINDS
from hookline.dialects.spec import suggest
from hookline.events import get_event_type
from hookline.hook import CommandAction, Hook, ScriptAction, ShellAction
from hookline.private import read_regular
from hookline.problem import Place, Problem, Severity
from hookline.runners.environment import clean_search_path, template_names
from hookline.runners.interpreter import NoInterpreterError, choose_interpreter

_TEMPLATE = re.compile(r"\$\{(\w*)\}")
_PATTERN_SIGNS = re.compile(r"[*|?\[\](){}^$\\]")
# A shell variable outside quotes that is part of a path, or whose name says that it holds one.
_UNQUOTED = re.compile(r"""'[^']*'|"(?:\\.|[^"\\])*"|\\.|(?P<word>[^\s'"\\;&|<>()]+)""", re.DOTALL)
_VARIABLE = re.compile(r"\$\{?(?P<name>[A-Za-z_]\w*)\}?")
_READ_OF_SCRIPT = 256 * 1024
_IMPORT = re.compile(r"^(?:import|from)\s+(\w+)", re.MULTILINE)
_PATH_NAME = re.compile(r"(?:^|_)(?:DIR|HOME|PWD|PATH|FILE|ROOT|CWD)$")
# Their values are made here and never hold a space.
_SAFE_VARIABLES = re.compile(r"^[A-Z]+_HOOK_(?:PAYLOAD_FILE|RESULT|ID|EVENT)$")


def lint_file(loaded: LoadedFile) -> Iterator[Problem]:
    """All that is suspicious in one file."""
    for path in loaded.file.shadowed:
        message = f"this file is not read, because {loaded.file.path.name} stands beside it"
        yield Problem(
            severity="warning",
            code="shadowed-file",
            message=message,
            place=Place(path=path),
            cure="merge the two, or remove one",
        )
    if loaded.document is None:
        return
    for word in loaded.document.old_scalars:
        message = f"{word.text!r} is read as {loaded.file.dialect.name} users mean it, by YAML 1.1"
        yield Problem(
            severity="warning",
            code="yaml11-word",
            message=message,
            place=loaded.document.at(word.position),
            cure="write true, false, a plain number, or put it in quotes",
        )
    for index, hook in zip(loaded.reading.entries, loaded.reading.hooks, strict=True):
        yield from _HookLint(loaded, index, hook).find()


class _HookLint(Struct, frozen=True):
    loaded: LoadedFile
    index: int
    hook: Hook

    @property
    def _dialect(self) -> Dialect:
        return self.loaded.file.dialect

    def find(self) -> Iterator[Problem]:
        yield from self._check_match()
        yield from self._check_gate()
        yield from self._check_templates()
        yield from self._check_cwd()
        action = self.hook.program
        if isinstance(action, ScriptAction):
            yield from self._check_script(action)
        elif isinstance(action, CommandAction):
            yield from self._check_command(action)
        else:
            yield from self._check_shell(action)

    def _problem(self, code: str, message: str, *keys: Any, cure: str = "", severity: Severity = "warning") -> Problem:
        assert self.loaded.document is not None
        place = self.loaded.document.place("hooks", self.index, *keys)
        return Problem(severity=severity, code=code, message=message, place=place, hook_id=self.hook.id, cure=cure)

    def _check_match(self) -> Iterator[Problem]:
        match, row = self.hook.match, get_event_type(self.hook.event)
        if match.needs_tool and not row.has_tool:
            message = f"this match asks for a tool, but {row.name} is about none: the hook never runs"
            cure = "remove the conditions on the tool, or use another event"
            yield self._problem("never-matches", message, "match", cure=cure, severity="error")
        if match.profile is not None and match.profiles and match.profile not in match.profiles:
            message = f"profile {match.profile!r} is not among profiles: the hook never runs"
            yield self._problem("never-matches", message, "match", cure="keep one of the two", severity="error")
        if match.tool_kind is not None and match.tool_kind not in TOOL_KINDS:
            cure = suggest(match.tool_kind, list(TOOL_KINDS))
            message = f"unknown tool kind {match.tool_kind!r}"
            yield self._problem("unknown-tool-kind", message, "match", "tool_kind", cure=cure)
        if match.tool_name is not None and _PATTERN_SIGNS.search(match.tool_name):
            message = f"the tool name {match.tool_name!r} looks like a pattern, but is compared as it is"
            cure = "write one hook for each tool, or match on tool_kind"
            yield self._problem("literal-tool-name", message, "match", "tool_name", cure=cure)

    def _check_gate(self) -> Iterator[Problem]:
        hook = self.hook
        if not hook.is_gate:
            return
        if hook.event == "before_tool_call" and not hook.match.needs_tool:
            message = "this hook runs before every tool call and every call waits for it"
            yield self._problem(
                "broad-gate", message, cure="name the tools it is for under match, if it is not for all"
            )
        execution = self._entry().get("execution") or {}
        if "on_error" not in execution:
            message = "a blocking hook on a gate should say what happens when it fails"
            cure = "add on_error: block to stay closed, on_error: warn to go on"
            yield self._problem("on-error-unset", message, "execution", cure=cure)

    def _entry(self) -> Any:
        assert self.loaded.document is not None
        return self.loaded.document.data["hooks"][self.index]

    def _check_templates(self) -> Iterator[Problem]:
        known = template_names(self._dialect)
        texts: list[tuple[str, tuple[str, ...], str]] = [("cwd", (), self.hook.program.cwd)]
        texts += [("env", (name,), value) for name, value in self.hook.program.env.items()]
        for key, rest, text in texts:
            for name in _TEMPLATE.findall(text):
                if name not in known:
                    message = f"${{{name}}} is no template here and stays as it is"
                    yield self._problem("unknown-template", message, "run", key, *rest, cure=suggest(name, list(known)))

    def _check_cwd(self) -> Iterator[Problem]:
        cwd = self.hook.program.cwd
        if cwd and not os.path.isabs(cwd) and not cwd.startswith("${"):  # noqa: PTH117 - a text, not a path yet
            message = f"the relative directory {cwd!r} starts wherever the agent was started"
            yield self._problem("relative-cwd", message, "run", "cwd", cure="start it with ${workspace_cwd}/")

    def _check_script(self, action: ScriptAction) -> Iterator[Problem]:
        if not action.path.is_file():
            message = f"the script {action.path} does not exist"
            cure = "relative paths start at the folder of this file"
            yield self._problem("script-missing", message, "run", "path", cure=cure, severity="error")
            return
        try:
            found = choose_interpreter(
                action.path, action.interpreter, search_path=self._search_path(), prefers_uv=self._dialect.prefers_uv
            )
        except NoInterpreterError as error:
            yield self._problem("program-missing", str(error), "run", "path", cure="install it", severity="error")
            return
        shim = " (a version manager's shim; what it stands for is looked up at the first run)" if found.is_shim else ""
        message = f"runs with {' '.join(found.argv)}{shim}"
        yield self._problem("runs-with", message, "run", "path", severity="notice")
        yield from self._check_imports(action)

    def _check_imports(self, action: ScriptAction) -> Iterator[Problem]:
        """A Python script does not find modules beside it: a repository's own must not be imported by accident."""
        if action.path.suffix != ".py" or "PYTHONSAFEPATH" in action.env:
            return
        try:
            names = _IMPORT.findall(read_regular(action.path, _READ_OF_SCRIPT).decode("utf-8", "replace"))
        except OSError:
            return
        for name in dict.fromkeys(names):
            if (action.path.parent / f"{name}.py").is_file() or (action.path.parent / name).is_dir():
                message = f"the script imports {name!r} from its own folder, which Python does not search here"
                yield self._problem("sibling-import", message, "run", "path", cure='add env: {PYTHONSAFEPATH: ""}')

    def _check_command(self, action: CommandAction) -> Iterator[Problem]:
        name = action.argv[0]
        if not os.path.dirname(name):  # noqa: PTH120 - as the system decides it
            if shutil.which(name, path=self._search_path()) is None:
                message = f"the program {name!r} was not found on PATH"
                yield self._problem(
                    "program-missing", message, "run", "argv", cure="install it, or write its path", severity="error"
                )
        elif os.path.isabs(name) and not os.path.isfile(name):  # noqa: PTH113, PTH117 - as above
            message = f"the program {name} does not exist"
            yield self._problem("program-missing", message, "run", "argv", cure="check the path", severity="error")
        elif os.path.isabs(name) and not os.access(name, os.X_OK):  # noqa: PTH117 - as above
            message = f"the program {name} is not executable"
            yield self._problem("not-executable", message, "run", "argv", cure=f"chmod +x {name}", severity="error")

    def _check_shell(self, action: ShellAction) -> Iterator[Problem]:
        for part in _UNQUOTED.finditer(action.text):
            word = part["word"] or ""
            for variable in _VARIABLE.finditer(word):
                name = variable["name"]
                if _SAFE_VARIABLES.match(name) or not ("/" in word or _PATH_NAME.search(name)):
                    continue
                message = f"${name} stands outside quotes: a space in it splits the word"
                yield self._problem(
                    "unquoted-variable", message, "run", "shell", cure=f'write "${name}" in double quotes'
                )

    def _search_path(self) -> str:
        own = self.hook.program.env.get("PATH")
        return own if own is not None else clean_search_path(os.environ.get("PATH", os.defpath))
