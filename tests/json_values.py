"""Random JSON data for property tests, with what models and people really send among it."""

from __future__ import annotations

from hypothesis import strategies as st

# Half characters, a BOM, separators that only some count as line ends, NUL, and the end of a C string.
ODD_TEXTS = [
    "",
    " ",
    "\ud800",
    "\ufeff",
    "\u2028",
    "\x85",
    "\x00",
    "a\x00b",
    "é",
    "表",
    "🚀",
    "~",
    "null",
    "yes",
    "1e999",
]

texts = st.text(max_size=12) | st.text(st.characters(), max_size=6) | st.sampled_from(ODD_TEXTS)
numbers = st.integers() | st.floats() | st.sampled_from([2**63, 2**64, -(2**70), 10**400, 1.0, 0, -0.0])
scalars = st.none() | st.booleans() | numbers | texts
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
objects = st.dictionaries(texts, values, max_size=5)
