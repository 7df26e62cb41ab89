"""Modules that have moved. A pickle names the module of a class; pickles of earlier versions have its old name."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

#: The old name of each module of which a pickle may hold a class or a function, and the new one.
MOVED: dict[str, str] = {
    "pycupc.data.knowledge": "pycupc.graph.knowledge",
    "pycupc.data.pairs": "pycupc.graph.pairs",
    "pycupc.effects.result": "pycupc.effects.effects_result",
    "pycupc.engines.base": "pycupc.engines.protocol",
    "pycupc.independence.enumerated": "pycupc.independence.setwise",
    "pycupc.independence.gaussian.correlations": "pycupc.independence.gaussian.correlation",
    "pycupc.independence.missing.literal": "pycupc.independence.missing.reference_tests",
    "pycupc.results.later_tests": "pycupc.results.tests_after_levels",
    "pycupc.results.level_summary": "pycupc.results.summary",
    "pycupc.results.levels": "pycupc.results.summary",
    "pycupc.results.why": "pycupc.results.explanation",
    "pycupc.stability.result": "pycupc.stability.stability_result",
    "pycupc.stability.run": "pycupc.stability.stability_run",
    "pycupc.system.message": "pycupc.system.localised_message",
}


class _Finder:
    """Imports the new module where the old name is asked for, after all other finders have been asked."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname in MOVED else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(MOVED[spec.name])
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is left to execute: only the import system has set the spec of the old name."""
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state


def find_moved_modules() -> None:
    """From now on `import` finds the old names too."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())
