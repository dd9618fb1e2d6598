"""
The exceptions Hookline raises: mistakes of the caller or of Hookline itself.

A hook that fails is never an exception; it is an `Outcome` (see `hookline.outcome`).
"""


class HooklineError(Exception):
    """
    Something Hookline was asked to do cannot be done.

    Every exception that Hookline raises on purpose derives from this one.
    """


class UnknownEventError(HooklineError, ValueError):
    """An event name that is in no row of the event table."""


class PayloadError(HooklineError, ValueError):
    """A payload from outside that cannot be read as the event it claims to be."""


class ConfigError(HooklineError, ValueError):
    """An option given to Hookline that cannot be honoured, such as an unknown dialect."""
