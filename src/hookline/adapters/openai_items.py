"""Texts in what agents of the OpenAI Agents SDK and their tools are given and return; images and files stay beside."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from typing import Any


def read_prompt(given: Any) -> str | None:
    """What the user said since the last answer, None if nothing."""
    prompts = _find_prompts(given)
    return _read_texts(_find_contents(prompts)) if prompts else None


def has_history(given: Any) -> bool:
    """Whether there is more in an input than what the user said last."""
    return len(_find_prompts(given)) < (len(given) if isinstance(given, list) else 1)


def edit_prompt(given: Any, text: str) -> Any:
    """The input with another prompt, if there is one."""
    prompts = _find_prompts(given)
    if not prompts or text == read_prompt(given):
        return given
    if isinstance(given, str):
        return text
    others = [part for part in _find_contents(prompts) if not _read_texts([part])]
    content = [{"type": "input_text", "text": text}, *others] if others else text
    return [*given[: -len(prompts)], {"role": "user", "content": content}]


def read_arguments(arguments: str, *, is_text: bool) -> dict[str, Any]:
    """The arguments of a call as hooks see them; a text that is no object is one argument."""
    try:
        args = None if is_text else json.loads(arguments or "{}")
    except ValueError:
        args = None
    return args if isinstance(args, dict) else {"input": arguments}


def write_arguments(args: Mapping[str, Any], *, is_text: bool) -> str:
    """The arguments of a call as tools get them."""
    return str(args.get("input", "")) if is_text else json.dumps(dict(args))


def read_value(value: Any) -> str:
    """What the model is told of a tool's return value."""
    parts = _find_parts(value)
    return _read_texts(parts) if parts else str(value)


def edit_value(value: Any, text: str) -> Any:
    """The return value with another text."""
    others = [part for part in _find_parts(value) if read(part, "type") != "text"]
    return [{"type": "text", "text": text}, *others] if others else text


def read(item: Any, key: str) -> Any:
    """A field of an item, which may be a mapping or an object."""
    return item.get(key) if isinstance(item, Mapping) else getattr(item, key, None)


def _find_prompts(given: Any) -> list[Any]:
    if not isinstance(given, list):
        return [given] if isinstance(given, str) else []
    return list(itertools.takewhile(lambda item: read(item, "role") == "user", reversed(given)))[::-1]


def _find_contents(prompts: Sequence[Any]) -> list[Any]:
    contents = [prompt if isinstance(prompt, str) else read(prompt, "content") for prompt in prompts]
    return [part for content in contents for part in ([content] if isinstance(content, str) else content)]


def _find_parts(value: Any) -> list[Any]:
    """The texts, images and files that a tool returned; none if it returned something else."""
    parts = list(value) if isinstance(value, list | tuple) else [value]
    return parts if all(read(part, "type") in ("text", "image", "file") for part in parts) else []


def _read_texts(parts: Sequence[Any]) -> str:
    texts = (part if isinstance(part, str) else read(part, "text") for part in parts)
    return "\n".join(text for text in texts if text)
