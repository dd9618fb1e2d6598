"""`hookline import`: native hooks that do what hooks of another format do."""

from __future__ import annotations

import os
from pathlib import Path

import click

from hookline.bridge.program import Format
from hookline.cli.options import json_option
from hookline.cli.screen import paint, reveal, say, say_json
from hookline.conversion.base import Conversion, Loss
from hookline.conversion.layout import write_file
from hookline.conversion.setup import convert
from hookline.errors import ConfigError


@click.command("import")
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--from",
    "format_",
    type=click.Choice(["chrys", "vix", "objects"]),
    help="The format of PATH (default: told by the path).",
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write to this file (default: print).")
@click.option("--force", is_flag=True, help="Overwrite the file if it is there.")
@json_option
def command(path: Path, format_: Format | None, output: Path | None, force: bool, as_json: bool) -> int:
    """
    Write native hooks that do what the hooks at PATH do.

    PATH is a hooks file of Chrys, a folder of vix hook folders, or a JSON list of hook objects. Runs nothing and
    changes nothing of it. Says on stderr what could not be kept, each with its place. Exits with 1 when something may
    be open now that a hook kept closed; the file is written all the same.
    """
    conversion = convert(path, format_)
    text = write_file(conversion)
    if output is not None:
        _write(output, text, force=force)
    if as_json:
        _say_json(conversion, text, output)
    elif output is None:
        say(text.removesuffix("\n"))
    _sum_up(conversion, output)
    return 1 if conversion.is_dangerous else 0


def _write(path: Path, text: str, *, force: bool) -> None:
    if not force and os.path.lexists(path):
        raise ConfigError(f"{path} is there already; name another file, or use --force")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w" if force else "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}") from error


def _say_json(conversion: Conversion, text: str, output: Path | None) -> None:
    say_json(
        {
            "file": None if output is None else str(output),
            "text": text,
            "hooks": [entry.data["id"] for entry in conversion.entries],
            "remarks": list(conversion.remarks),
            "losses": [_loss_to_json(loss) for loss in conversion.losses],
        }
    )


def _loss_to_json(loss: Loss) -> dict[str, object]:
    return {
        "hook": loss.hook_id,
        "file": str(loss.place.path),
        "line": loss.place.line,
        "column": loss.place.column,
        "message": loss.message,
        "left_out": loss.is_left_out,
        "dangerous": loss.is_dangerous,
    }


def _sum_up(conversion: Conversion, output: Path | None) -> None:
    left_out = len({loss.hook_id for loss in conversion.losses if loss.is_left_out})
    for loss in conversion.losses:
        what = "left out" if loss.is_left_out else "not kept"
        word = paint(f"danger: {what}", "red") if loss.is_dangerous else paint(what, "yellow")
        say(f"{loss.place}: {word}: hook {loss.hook_id!r}: {reveal(loss.message)}", to_stderr=True)
    for remark in conversion.remarks:
        say(f"{paint('different', 'cyan')}: {remark}", to_stderr=True)
    count = len(conversion.entries)
    where = "" if output is None else f" to {output}"
    say(f"{count} hook{'' if count == 1 else 's'} written{where}, {left_out} left out", to_stderr=True)
    if conversion.is_dangerous:
        say("what was marked as danger may be open now: see to it before you switch the old hooks off", to_stderr=True)
