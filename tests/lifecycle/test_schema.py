"""Schemas that rewritten arguments are checked against."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, TypedDict

import pytest

from hookline.lifecycle import SchemaError, make_check


class Typed(TypedDict):
    path: str


@dataclass
class Plain:
    path: str


class Model:
    """What of a pydantic model counts."""

    @classmethod
    def model_validate(cls, args: Any) -> Any:
        if not isinstance(args.get("path"), str):
            raise ValueError("path: Input should be a valid string")  # noqa: TRY004 - as pydantic does
        return cls()


def insist(args: Any) -> None:
    assert isinstance(args["path"], str), "a path is a text"


@pytest.mark.parametrize(
    ("schema", "word"),
    [
        ({"properties": {"path": {"type": "string"}}}, r"\$\.path: 7 is not of type 'string'"),
        (Typed, r"`\$\.path`"),
        (Plain, r"`\$\.path`"),
        (Model, "valid string"),
        (insist, "a path is a text"),
        (lambda args: isinstance(args["path"], str), "refused"),
    ],
)
def test_a_check_says_what_does_not_fit(schema: Any, word: str):
    check = make_check(schema)
    assert check({"path": "a"}) is None
    with pytest.raises(ValueError, match=word):
        raise ValueError(check({"path": 7}))


def test_a_check_names_some_of_many_mistakes():
    check = make_check({"additionalProperties": {"type": "string"}})
    assert str(check({str(number): number for number in range(5)})).endswith("; and 2 more")


def test_a_reference_to_elsewhere_is_not_followed():
    """A schema fetches nothing; what cannot be checked does not fit."""
    check = make_check({"$ref": "http://example.invalid/schema.json"})
    assert "cannot be followed" in str(check({}))


@pytest.mark.parametrize("schema", [{"type": "sting"}, {"properties": 7}, 7, object])
def test_a_schema_that_says_nothing_is_refused(schema: Any):
    with pytest.raises(SchemaError):
        make_check(schema)


def test_a_json_schema_without_its_library_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "jsonschema", None)
    with pytest.raises(SchemaError, match=r"pip install 'hookline\[schema\]'"):
        make_check({"type": "object"})
