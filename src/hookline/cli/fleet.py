"""`hookline fleet`: set up a fleet's database, and show its figures."""

from __future__ import annotations

import click

from hookline.cli.fleet_options import opened_fleet, source_option, to_option
from hookline.cli.screen import say, say_json


@click.group("fleet")
def command() -> None:
    """Set up a fleet's database, and show its figures."""


@command.command("init")
@to_option
def set_up(url: str) -> None:
    """Make the tables of a fleet, or bring them up to date; may be run again at any time."""
    with opened_fleet(url) as fleet:
        for name in fleet.set_up():
            say(f"applied {name}")
        say(f"{fleet} is up to date")


@command.command("metrics")
@source_option
@click.option("--format", "form", type=click.Choice(["json", "prometheus"]), default="json", help="How to print them.")
def show_metrics(url: str, form: str) -> None:
    """Print counters and ages: jobs by state, hook and queue, the oldest that waits, starts, workers."""
    with opened_fleet(url) as fleet:
        if form == "json":
            say_json(fleet.read_metrics())
        else:
            say(fleet.write_metrics().rstrip("\n"))
