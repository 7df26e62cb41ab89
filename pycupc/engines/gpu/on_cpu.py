"""Questions to the GPU engine, which compiled code on the CPU answers, after a search on the device where it pays.

The log says once in a run why the device takes no part.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from typing import TYPE_CHECKING, cast

from pycupc.engines.gpu.device import Device
from pycupc.engines.gpu.device_answers import search_on_device
from pycupc.engines.protocol import Answers, CountHook, Counts, Engine, Questions
from pycupc.system.logging import logger
from pycupc.system.machine import available_cores

if TYPE_CHECKING:
    from pycupc.independence.gaussian.test import GaussianTest


class AnsweringOnCpu(Engine):
    """An engine whose questions the CPU answers; Numba, which most runs do without, is loaded by the first one."""

    device: Device
    _by_columns: Engine | None
    _prunes: bool
    _told: set[str]

    def _forget_questions(self) -> None:
        self._by_columns, self._told = None, set[str]()

    def _tell(self, why: str) -> None:
        if why not in self._told:
            logger.info("the CPU answers questions about pairs for engine %r: %s", self.name, why)
            self._told.add(why)

    @abstractmethod
    def _in_rows(self) -> bool:
        """Whether the run goes without the matrix of all correlations."""

    def first_separating(self, questions: Questions, progress: CountHook | None = None) -> Answers:
        from pycupc.engines.cpu.answers import first_separating

        if (engine := self._without_matrix()) is not None:
            self._tell("there is no matrix of all correlations")
            return engine.first_separating(questions, progress)
        if not self._test.has_r:
            self._tell("the device searches Gaussian tests only")
        elif questions.budget is not None:
            self._tell("a budget counts the steps of the CPU")
        device = partial(search_on_device, self.device.index) if self._prunes else None
        return first_separating(self._test, questions, available_cores(), progress, device=device)

    def count_separating(self, questions: Questions) -> Counts:
        from pycupc.engines.cpu.answers import count_separating

        self._tell("the device does not count separating sets")
        if (engine := self._without_matrix()) is not None:
            return engine.count_separating(questions)
        return count_separating(self._test, questions, available_cores())

    def _without_matrix(self) -> Engine | None:
        """The CPU engine on the columns of the data, if no matrix has all correlations."""
        in_rows, test = self._in_rows(), self._test
        if in_rows and self._by_columns is None and not cast("GaussianTest", test).data.has_C:
            from pycupc.engines.cpu.cpu_engine import CpuEngine

            self._by_columns = CpuEngine(correlations="rows")
            self._by_columns.take(test, [""] * test.p)
        return self._by_columns
