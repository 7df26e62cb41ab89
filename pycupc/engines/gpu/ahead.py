"""The levels of one run, each launched before it is asked for if it is short: Python works while the device does."""

from __future__ import annotations

from collections.abc import Callable

from pycupc.engines.base import LevelResult
from pycupc.engines.gpu.device import Device
from pycupc.engines.gpu.graph import DeviceGraph, Tick
from pycupc.engines.gpu.kernels import KernelName
from pycupc.engines.gpu.levels import LevelTests
from pycupc.engines.gpu.records import Running

#: A level with at most this many tests, which takes a fraction of a second, is launched before it is asked for.
AHEAD = 1e10


class RunAhead:
    """Runs the levels of one problem, in a session of its device.

    Parameters
    ----------
    dev : Device
    graph : DeviceGraph
    tests : LevelTests
    cutoffs : function
        The cutoff of a level if it will be asked for, else None; see `Engine.expect`.
    """

    def __init__(
        self, dev: Device, graph: DeviceGraph, tests: LevelTests, cutoffs: Callable[[int], float | None]
    ) -> None:
        self._dev, self._graph, self._tests, self._cutoffs = dev, graph, tests, cutoffs
        self._level0: LevelResult | None = None  # while it waits to be asked for
        self._running: Running | None = None

    @property
    def level0_waits(self) -> bool:
        """Whether level 0 has ended, but was not asked for yet."""
        return self._level0 is not None

    def kernels(self, level: int) -> list[KernelName]:
        """Kernels that a level needs; none if it has been launched."""
        if self._level0 is not None or (self._running is not None and self._running.level == level):
            return []
        return self._graph.kernels(level) + (self._tests.kernels(level, self._graph.outlook) if level else [])

    def launch_level0(self) -> bool:
        """Launch level 0 if it will be asked for and needs no compiling; returns whether it has been launched."""
        cutoff = self._cutoffs(0)
        if cutoff is None or self._dev.kernels.missing(self._graph.kernels(0)):
            return False
        self._running = self._graph.launch_level0(cutoff)
        return True

    def end_level0(self, *, mirrored: bool) -> None:
        """Wait for level 0, which has been launched, and launch level 1; `mirrored`: as in `Outlook`."""
        self._level0 = self._collect_level0(lambda: None, mirrored)

    def run_level(self, level: int, cutoff: float, tick: Tick, *, mirrored: bool) -> LevelResult:
        """See `Engine.run_level`; `tick` is called while the host waits."""
        if level == 0 and self._level0 is not None:
            result, self._level0 = self._level0, None
            return result
        running, self._running = self._running, None
        if running is None or (running.level, running.cutoff) != (level, cutoff):
            running = self._launch(level, cutoff, tick) if level else self._graph.launch_level0(cutoff)
        if level == 0:
            return self._collect_level0(tick, mirrored)
        counters = self._graph.collect(running, tick)
        self._running = self._launch_ahead(level + 1) if counters.more else None
        return self._graph.result(running, counters)

    def _collect_level0(self, tick: Tick, mirrored: bool) -> LevelResult:
        result = self._graph.collect_level0(tick, mirrored)
        self._running = self._launch_ahead(1) if result.more else None
        return result

    def _launch(self, level: int, cutoff: float, tick: Tick) -> Running:
        graph = self._graph
        of_graph, of_level = graph.begin(level, cutoff)
        if any(graph.outlook.rows):
            self._tests.launch(self._dev, of_graph, of_level, graph.outlook)
        return graph.settle(of_graph, of_level, tick)

    def _launch_ahead(self, level: int) -> Running | None:
        cutoff, outlook = self._cutoffs(level), self._graph.outlook
        if cutoff is None or outlook.tests_at_most > AHEAD or not outlook.pairs:
            return None
        return None if self._dev.kernels.missing(self.kernels(level)) else self._launch(level, cutoff, lambda: None)
