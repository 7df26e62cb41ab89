"""Questions to the GPU engine, which compiled code on the CPU answers."""

from __future__ import annotations

from abc import abstractmethod

from pycupc.engines.base import Answers, CountHook, Counts, Engine, Questions
from pycupc.independence.gaussian.family import GaussianTest
from pycupc.system.machine import available_cores


class AnsweringOnCpu(Engine):
    """An engine whose questions the CPU answers; Numba, which most runs do without, is loaded by the first one."""

    _by_columns: Engine | None

    def _forget_questions(self) -> None:
        self._by_columns = None

    @abstractmethod
    def _in_rows(self) -> bool:
        """Whether the run goes without the matrix of all correlations."""

    def first_separating(self, questions: Questions, progress: CountHook | None = None) -> Answers:
        from pycupc.engines.cpu.questions import first_separating

        if (engine := self._without_matrix()) is not None:
            return engine.first_separating(questions, progress)
        return first_separating(self._test, questions, available_cores(), progress)

    def count_separating(self, questions: Questions) -> Counts:
        from pycupc.engines.cpu.questions import count_separating

        if (engine := self._without_matrix()) is not None:
            return engine.count_separating(questions)
        return count_separating(self._test, questions, available_cores())

    def _without_matrix(self) -> Engine | None:
        """The CPU engine on the columns of the data, if no matrix has all correlations."""
        in_rows, test = self._in_rows(), self._test
        if in_rows and self._by_columns is None and isinstance(test, GaussianTest) and not test.data.has_C:
            from pycupc.engines.cpu.engine import CpuEngine

            self._by_columns = CpuEngine(correlations="rows")
            self._by_columns.take(test, [""] * test.p)
        return self._by_columns
