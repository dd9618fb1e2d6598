"""Taking secrets out of what is kept."""

from __future__ import annotations

import json
import string
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.redact import REDACTED, redact, redact_text
from properties import steady

SECRETS = {
    "openai": "sk-proj-abcdefghijklmnopqrstuvwxyz0123",
    "anthropic": "sk-ant-api03-AbCdEfGhIjKlMnOpQrStUvWx",
    "github": "ghp_0123456789abcdefghijABCDEFGHIJ012345",
    "github fine": "github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwx",
    "gitlab": "glpat-abcdefghij0123456789",
    "slack": "xoxb-123456789012-abcdefghijkl",
    "aws": "AKIAIOSFODNN7EXAMPLE",
    "google": "AIzaSyA-0123456789abcdefghijklmnopqrstu",
    "stripe": "sk_live_0123456789abcdefghij",
    "npm": "npm_0123456789abcdefghijABCDEFGHIJ0123",
    "pypi": "pypi-AgEIcHlwaS5vcmcCJDAxMjM0NTY3ODkwMTIzNDU2Nzg5",
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
}
PRIVATE_KEY = f"-----BEGIN OPENSSH PRIVATE KEY-----\n{'b3BlbnNzaC1rZXktdjE' * 40}\n-----END OPENSSH PRIVATE KEY-----"
SHAPED = pytest.mark.parametrize("secret", [*SECRETS.values(), PRIVATE_KEY], ids=[*SECRETS, "private key"])

# Texts around a secret that do not run into it; letters of other scripts do not.
around = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters=string.ascii_letters + string.digits + "-_")
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)


# By shape


@SHAPED
def test_a_secret_is_taken_out_of_the_text_around_it(secret: str) -> None:
    assert redact_text(f"before {secret} after") == f"before {REDACTED} after"


@steady
@given(around, st.sampled_from([*SECRETS.values(), PRIVATE_KEY]), around)
def test_a_secret_is_found_whatever_stands_around_it(before: str, secret: str, after: str) -> None:
    assert secret not in redact_text(f"{before}{secret}{after}")


def test_a_secret_is_found_after_a_letter_of_another_script() -> None:
    """In Chinese or Japanese nothing stands between a word and what follows."""
    assert [secret for secret in SECRETS.values() if secret in redact_text(f"令牌是{secret}。")] == []


@steady
@given(
    st.lists(st.sampled_from(list(SECRETS.values())), min_size=2, max_size=5), st.sampled_from([" ", "\n", ",", '"'])
)
def test_all_secrets_of_a_text_are_found(secrets: list[str], between: str) -> None:
    text = redact_text(between.join(secrets))
    assert not [secret for secret in secrets if secret in text]


@SHAPED
def test_a_secret_is_taken_out_of_any_depth(secret: str) -> None:
    value = {"tool": {"args": {"list": [1, {"text": f"use {secret} here"}]}}}
    assert secret not in json.dumps(redact(value))


def test_a_private_key_that_was_cut_off_is_taken_out() -> None:
    assert redact_text(f"x {PRIVATE_KEY[:300]}") == f"x {REDACTED}"


def test_texts_around_several_private_keys_stay() -> None:
    assert redact_text(f"a {PRIVATE_KEY} b {PRIVATE_KEY} c") == f"a {REDACTED} b {REDACTED} c"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("curl -H 'Authorization: Bearer abcdef0123456789'", "abcdef0123456789"),
        ("Authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
        ("git clone https://me:hunter22@example.org/x", "hunter22"),
        ("postgresql://app:pa55w0rd!@db:5432/x", "pa55w0rd!"),
        ("export API_KEY=abcd1234", "abcd1234"),
        ("export MY_SECRET='abcd1234'", "abcd1234"),
        ('{"password": "hunter22"}', "hunter22"),
        ("{'access_token': 'hunter22'}", "hunter22"),
        ("password: hunter22", "hunter22"),
        ("mysql --password hunter22", "hunter22"),
        ("mysql --password=hunter22 x", "hunter22"),
        ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG", "wJalrXUtnFEMI/K7MDENG"),
        ("client-secret=hunter22;next", "hunter22"),
        ("PGPASSWORD=hunter22 psql", "hunter22"),
        ("DB_PASS=hunter22 ./run", "hunter22"),
        ("passphrase: hunter22", "hunter22"),
        ("Cookie: session=hunter22hunter22", "hunter22hunter22"),
        ("X-Api-Key: hunter22", "hunter22"),
    ],
)
def test_a_secret_is_found_by_the_name_before_it(text: str, secret: str) -> None:
    assert secret not in redact_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ls -la src/",
        "the quick brown fox",
        "https://example.org/path?x=1",
        "git commit -m 'fix tests'",
        "sk-1",
        "max_tokens=100",
        "3f786850e387550fdab836ed7e6dc881de23001b",
        "tests/test_key.py::test_keyboard PASSED",
        "monkey: banana",
        "日本語 😀",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact_text(text) == text


# By key


@pytest.mark.parametrize(
    "key",
    [
        "password",
        "PASSWORD",
        "db_password",
        "passwd",
        "pass",
        "passphrase",
        "secret",
        "clientSecret",
        "token",
        "access_token",
        "api_key",
        "apiKey",
        "x-api-key",
        "AWS_SECRET_ACCESS_KEY",
        "private_key",
        "credentials",
        "Authorization",
        "Cookie",
        "Set-Cookie",
        "signature",
    ],
)
def test_the_value_of_a_secret_key_is_taken_out(key: str) -> None:
    assert redact({"args": {key: "hunter22", "path": "a"}}) == {"args": {key: REDACTED, "path": "a"}}


@pytest.mark.parametrize(
    "value",
    [["hunter22"], {"value": "hunter22"}, [["hunter22"]], ("hunter22",)],
    ids=["list", "object", "lists", "tuple"],
)
def test_the_value_of_a_secret_key_is_taken_out_whatever_its_type(value: Any) -> None:
    """Headers come as lists, credentials as objects."""
    assert "hunter22" not in json.dumps(redact({"password": value}))


@pytest.mark.parametrize("value", ["", None, True, False])
def test_a_secret_key_without_a_secret_keeps_its_value(value: Any) -> None:
    assert redact({"password": value}) == {"password": value}


@pytest.mark.parametrize("key", ["max_tokens", "path", "compass_heading", "keyboard", "author", "monkey"])
def test_the_value_of_another_key_stays(key: str) -> None:
    assert redact({key: "plain"}) == {key: "plain"}


# All values


@steady
@given(json_values)
def test_a_redacted_value_is_json_of_the_same_form(value: Any) -> None:
    found = redact({"value": value})
    assert json.loads(json.dumps(found)) == found
    assert _shape(found["value"]) == _shape(value)


@steady
@given(json_values)
def test_what_is_redacted_already_stays_as_it_is(value: Any) -> None:
    once = redact(value)
    assert redact(once) == once


@steady
@given(json_values)
def test_the_value_that_is_given_is_not_changed(value: Any) -> None:
    before = json.dumps(value)
    redact(value)
    assert json.dumps(value) == before


def test_what_is_nested_very_deep_is_left_out() -> None:
    value: Any = SECRETS["github"]
    for _ in range(5000):
        value = [value]
    assert SECRETS["github"] not in json.dumps(redact(value))


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "a-",
        "a_A-",
        "token",
        "token ",
        "secret=",
        "password: ",
        "sk-",
        "eyJa.",
        "-----BEGIN ",
        "bearer ",
        "key-",
        "://a:",
    ],
)
def test_no_text_takes_long(piece: str) -> None:
    """A model chooses these texts, and whoever redacts holds the interpreter."""
    text = piece * (60_000 // len(piece))
    started = time.perf_counter()
    redact_text(text)
    assert time.perf_counter() - started < 1


def _shape(value: Any) -> Any:
    if isinstance(value, dict):
        return set(value)
    return [None] * len(value) if isinstance(value, list) else None
