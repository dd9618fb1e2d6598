"""`hookline untrust`: a project's hooks do not run any more."""

from __future__ import annotations

from pathlib import Path

import click

from hookline.cli.options import home_option, resolve_home
from hookline.cli.screen import say
from hookline.config.trust import TrustStore
from hookline.errors import ConfigError


@click.command("untrust")
@click.argument("project", type=click.Path(file_okay=False, path_type=Path), default=".")
@home_option
def command(project: Path, home: Path | None) -> None:
    """Forget that you trusted a project's hooks (by default: here); none of them runs any more."""
    store = TrustStore(resolve_home(home))
    try:
        was_trusted = store.remove(project.absolute())
    except OSError as error:
        raise ConfigError(f"the record cannot be removed: {error}") from error
    say(f"{project.absolute()} is not trusted any more" if was_trusted else f"{project.absolute()} was not trusted")
