"""Whether arguments that hooks rewrote are still what a tool takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from hookline.errors import HooklineError
from hookline.lifecycle.tool import Check

Schema = Mapping[str, Any] | type | Callable[[Mapping[str, Any]], Any]
"""
What arguments must be: a JSON Schema, a class, or a function.

A class is a msgspec struct, a dataclass, a typed dict or a pydantic model. A function gets the arguments and raises, or
returns False, for those that do not fit.
"""

_SHOWN_MISTAKES = 3


class SchemaError(HooklineError, ValueError):
    """A schema that arguments cannot be checked against."""


def make_check(schema: Schema) -> Check:
    """
    The check of arguments against a schema, for a tool call's `check`; make it once for each tool.

    Raises `SchemaError` for a schema that says nothing, and for a JSON Schema where no library reads it.
    """
    if isinstance(schema, Mapping):
        return _check_json_schema(schema)
    read = getattr(schema, "model_validate", None)  # a pydantic model, which need not be installed for others
    if isinstance(schema, type) and callable(read):
        return _check_by(read)
    if isinstance(schema, type):
        return _check_type(schema)
    if callable(schema):
        return _check_by(schema)
    raise SchemaError(f"a schema is a JSON Schema, a class of records or a function, not {schema!r}")


def _check_type(kind: type) -> Check:
    try:
        msgspec.json.schema(kind)
    except TypeError as error:
        raise SchemaError(f"arguments cannot be checked against {kind.__name__}: {error}") from error

    def check(args: Mapping[str, Any]) -> str | None:
        try:
            msgspec.convert(dict(args), kind)
        except msgspec.ValidationError as error:
            return str(error)
        return None

    return check


def _check_by(judge: Callable[[Mapping[str, Any]], Any]) -> Check:
    def check(args: Mapping[str, Any]) -> str | None:
        try:
            found = judge(dict(args))
        except Exception as error:  # boundary: however a host's check says no, it is a no
            return str(error) or type(error).__name__
        return "they were refused" if found is False else None

    return check


def _check_json_schema(schema: Mapping[str, Any]) -> Check:
    try:
        # An extra, imported for those who have a JSON Schema.
        import jsonschema  # noqa: PLC0415
        import referencing  # noqa: PLC0415
    except ImportError as error:
        raise SchemaError(
            f"a JSON Schema cannot be checked without jsonschema ({error}); pip install 'hookline[schema]'"
        ) from error
    schema = dict(schema)
    kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    try:
        kind.check_schema(schema)
    except jsonschema.SchemaError as error:
        raise SchemaError(f"the JSON Schema of a tool is wrong at {error.json_path}: {error.message}") from error
    # An empty registry: a reference to elsewhere must not be fetched from there.
    validator = kind(schema, registry=referencing.Registry())

    def check(args: Mapping[str, Any]) -> str | None:
        try:
            found = [f"{mistake.json_path}: {mistake.message}" for mistake in validator.iter_errors(dict(args))]
        except Exception as error:  # boundary: a reference that leads nowhere shows only now; unchecked is unfit
            return f"the schema cannot be followed: {error}"
        if not found:
            return None
        more = len(found) - _SHOWN_MISTAKES
        return "; ".join(found[:_SHOWN_MISTAKES]) + (f"; and {more} more" if more > 0 else "")

    return check
