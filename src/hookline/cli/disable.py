"""`hookline disable`: switch a hook off in its file."""

from __future__ import annotations

from pathlib import Path

import click

from hookline.cli.options import home_option, layer_option, project_option
from hookline.cli.switch import switch


@click.command("disable")
@click.argument("hook_id", metavar="ID")
@layer_option
@project_option
@home_option
def command(hook_id: str, layer: str | None, project: Path, home: Path | None) -> None:
    """Switch the hook ID off in its file; everything else of the file stays as it is, to the byte."""
    switch(hook_id, project, home, layer, is_enabled=False)
