"""What reading a hook file has found so far, each finding at its place."""

from __future__ import annotations

from collections.abc import Hashable

from hookline.dialects.spec import Misfit
from hookline.document import Defect, Document
from hookline.problem import Problem, Severity

_MOST_PROBLEMS = 1000


class Findings:
    """Collects the problems of one document: the first thousand; of the others only the number is kept."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self.problems: list[Problem] = []
        self.error_count = 0
        self._count = 0

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
        self.error_count += problem.severity == "error"
        self._count += 1
        if self._count <= _MOST_PROBLEMS:
            self.problems.append(problem)

    @property
    def is_full(self) -> bool:
        """Whether further problems are only counted."""
        return self._count >= _MOST_PROBLEMS

    def sum_up(self) -> None:
        """Say how many problems are not told one by one."""
        left_out = self._count - len(self.problems)
        if left_out > 0:
            place, message = self._document.place(), f"there are {left_out} more problems"
            self.problems.append(Problem(severity="error", code="more-problems", message=message, place=place))

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
