"""Options that several verbs take, and the environment that only the command line reads."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from hookline.config.layers import BrokenConfig, Layers, load_layers
from hookline.config.locate import default_home
from hookline.config.trust import TrustMode
from hookline.errors import ConfigError

F = TypeVar("F", bound=Callable[..., Any])

HOME_VARIABLE = "HOOKLINE_HOME"
TRUST_VARIABLE = "HOOKLINE_TRUST"
DIALECTS_VARIABLE = "HOOKLINE_DIALECTS"


def project_option(function: F) -> F:
    """`--project DIR`."""
    return click.option(
        "--project",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        default=".",
        help="The folder the agent works in (default: here).",
    )(function)


def home_option(function: F) -> F:
    """`--home DIR`."""
    return click.option(
        "--home",
        type=click.Path(file_okay=False, path_type=Path),
        envvar=HOME_VARIABLE,
        help=f"Your own Hookline folder (default: ${HOME_VARIABLE}, else ~/.hookline).",
    )(function)


def layer_option(function: F) -> F:
    """`--layer`."""
    return click.option(
        "--layer", type=click.Choice(["project", "user"]), help="Whose hook, where both have one with this id."
    )(function)


def json_option(function: F) -> F:
    """`--json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")(function)


def broken_config_option(function: F) -> F:
    """`--broken-config`."""
    return click.option(
        "--broken-config",
        type=click.Choice(["closed", "open"]),
        default="closed",
        help="What a hooks file that cannot be parsed leaves of its gates (default: closed).",
    )(function)


def read_trust() -> TrustMode:
    """What HOOKLINE_TRUST says; raises `ConfigError` for a word that means nothing."""
    word = os.environ.get(TRUST_VARIABLE) or "recorded"
    modes: dict[str, TrustMode] = {"recorded": "recorded", "all": "all", "none": "none"}
    if word not in modes:
        raise ConfigError(f"{TRUST_VARIABLE}={word!r} means nothing; it must be one of {', '.join(modes)}")
    return modes[word]


def read_dialects() -> list[str] | None:
    """The names in HOOKLINE_DIALECTS, None when it is not set."""
    text = os.environ.get(DIALECTS_VARIABLE)
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def load(
    project: Path,
    home: Path | None,
    *,
    trust: TrustMode | None = None,
    broken_config: BrokenConfig = "closed",
    remember_guards: bool = False,
) -> Layers:
    """Load all layers with the options and the environment of the command line."""
    root = Path(os.path.abspath(project))  # noqa: PTH100 - a link in the path keeps its name
    return load_layers(
        root,
        home=None if home is None else Path(os.path.abspath(home)),  # noqa: PTH100 - as above
        dialects=read_dialects(),
        trust=read_trust() if trust is None else trust,
        broken_config=broken_config,
        remember_guards=remember_guards,
    )


def resolve_home(home: Path | None) -> Path:
    """The home that an option or the environment names, else the user's own."""
    return home.absolute() if home is not None else default_home()


def silence_log() -> None:
    """The command line shows warnings itself; the log would show them twice."""
    logger = logging.getLogger("hookline")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
