"""The entry point: the table of verbs, and the one place where errors become exit codes."""

from __future__ import annotations

import difflib
import sys
import traceback
from importlib import import_module

import click

from hookline import __version__
from hookline.errors import HooklineError

EXIT_FAILURE = 1
EXIT_INTERRUPT = 130

# Each verb's module is imported when it is asked for, so that one verb does not pay for another's imports.
VERBS = {
    "init": "write a first hooks file, with a guard that works",
    "import": "write native hooks that do what hooks of another format do",
    "check": "report every problem of every hooks file",
    "list": "show all hooks in the order in which they run",
    "events": "show all events and what hooks may do on them",
    "explain": "say for each hook of an event whether it would run, and why not",
    "test": "run one hook and show its input, output, reply and timing",
    "bridge": "run a hook program of another format inside a native hook",
    "fire": "report an event and run its hooks",
    "enable": "switch a hook on in its file",
    "disable": "switch a hook off in its file",
    "log": "show what ran, when, and how it ended",
    "outbox": "look at durable runs, try failed ones again",
    "worker": "run a fleet's jobs with the hooks of this machine",
    "fleet": "set up a fleet's database, and show its figures",
    "trust": "allow a project's hooks to run, as they are now",
    "untrust": "take that back",
    "demo": "watch a small scripted agent with hooks",
}

# Words that no module can have for its name.
_MODULES = {"import": "importing"}


class VerbGroup(click.Group):
    """The verbs of the table, loaded one by one."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The verbs in the order of the table."""
        del ctx
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the verb's module and return its command."""
        if cmd_name not in VERBS:
            return None
        del ctx
        command: click.Command = import_module(f"hookline.cli.{_MODULES.get(cmd_name, cmd_name)}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb, or say which one was probably meant."""
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            close = difflib.get_close_matches(args[0], VERBS, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"verbs: {', '.join(VERBS)}"
            raise click.UsageError(f"there is no verb {args[0]!r}; {hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs without importing them."""
        del ctx
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))


@click.group(cls=VerbGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="hookline")
def cli() -> None:
    """
    Lifecycle hooks for AI agents.

    Hooks are read from .hookline/hooks/hooks.yaml of the project, once you trust it, and of your home.
    HOOKLINE_HOME names another home, HOOKLINE_TRUST=all trusts any project, HOOKLINE_DIALECTS=native,chrys
    names the formats to read.
    """


def main() -> None:
    """Run the command line and exit."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command; returns its exit status, 1 for every failure of ours."""
    try:
        result = cli.main(arguments, prog_name="hookline", standalone_mode=False)
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        return EXIT_INTERRUPT
    except click.ClickException as error:
        error.show()
        return EXIT_FAILURE
    except BrokenPipeError:  # whoever read our output has seen enough
        sys.stderr.close()
        return EXIT_FAILURE
    except HooklineError as error:
        click.echo(f"hookline: {error}", err=True)
        return EXIT_FAILURE
    except Exception:  # boundary: a mistake of ours, shown so that it can be reported
        click.echo(f"hookline {__version__} has a bug; please report this text:\n{traceback.format_exc()}", err=True)
        return EXIT_FAILURE
    return result if isinstance(result, int) else 0
