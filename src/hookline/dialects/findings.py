"""What reading a hook file has found so far, each finding at its place."""

from __future__ import annotations

from collections.abc import Hashable

from hookline.dialects.spec import Misfit
from hookline.document import Defect, Document
from hookline.problem import Problem, Severity


class Findings:
    """Collects the problems of one document."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self.problems: list[Problem] = []
        self.error_count = 0

    def add(
        self,
        code: str,
        message: str,
        *path: Hashable,
        severity: Severity = "error",
        hook_id: str | None = None,
        cure: str = "",
        at_key: bool = False,
    ) -> None:
        """Add a finding about the value at the end of `path`, or about its key."""
        place = self._document.place(*path, at_key=at_key)
        self._take(Problem(severity=severity, code=code, message=message, place=place, hook_id=hook_id, cure=cure))

    def _take(self, problem: Problem) -> None:
        self.problems.append(problem)
        self.error_count += problem.severity == "error"

    def warn(self, code: str, message: str, *path: Hashable, hook_id: str | None = None, cure: str = "") -> None:
        """Add a warning about the key at the end of `path`."""
        self.add(code, message, *path, severity="warning", hook_id=hook_id, cure=cure, at_key=True)

    def add_misfits(self, misfits: list[Misfit], *path: Hashable, hook_id: str | None = None) -> None:
        """Add what does not fit its spec; the paths of the misfits start at `path`."""
        for misfit in misfits:
            where = (*path, *misfit.path)
            self.add(misfit.code, misfit.message, *where, hook_id=hook_id, cure=misfit.cure, at_key=misfit.is_key)

    def add_defect(self, defect: Defect) -> None:
        """Add one fault of the text itself."""
        self._take(self._document.to_problem(defect))

    def add_defects(self, *path: Hashable) -> None:
        """Add the faults of the text itself at and below `path`."""
        for problem in self._document.defects_below(*path):
            self._take(problem)
