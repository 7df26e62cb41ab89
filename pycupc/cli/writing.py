"""Writing the files of `pycupc.cli.files`, the slow parts of some in a second process."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from pycupc.cli.files import FILES, FileKind, Request
from pycupc.cli.manifest import Written
from pycupc.cli.second_process import SecondProcess
from pycupc.system.machine import available_cores

if TYPE_CHECKING:
    from pycupc.graph.sparse import SparseGraph
    from pycupc.results.pcalgo import PcAlgo

#: Called with files begun, files, name of the file.
Progress = Callable[[int, int, str], None]


class Writer:
    """Writes results into a folder; begin it before the tests, so that its second process is ready after them.

    Parameters
    ----------
    request : Request
    process : SecondProcess
        Where the slow parts are made.
    """

    def __init__(self, request: Request, process: SecondProcess) -> None:
        self._request, self._process = request, process

    def prepare(self, skeleton: SparseGraph) -> None:
        """Let the second process begin, before the edges of the skeleton have directions."""
        for kind in FILES:
            if kind.prepare is not None and kind.wanted(self._request):
                self._process.start(kind.prepare, skeleton)

    def write(self, fit: PcAlgo, folder: Path, progress: Progress | None = None) -> Written:
        """Write the files of `fit`, and call ``progress(files begun, files, name)`` before each.

        Raises
        ------
        OSError
            A file cannot be written.
        """
        out = Written()
        waiting: list[tuple[FileKind, Callable[[], object]]] = []
        for number, kind in enumerate(FILES):
            if not kind.wanted(self._request):
                continue
            if (reason := kind.left_out(fit, self._request)) is not None:
                out.left_out[kind.name] = reason
                continue
            if progress is not None:
                progress(number, len(FILES), kind.name)
            finish = kind.write(kind.content(fit, self._request), folder / kind.name, self._process.start)
            if finish is None:
                out.files[kind.name] = kind.description
            else:
                waiting.append((kind, finish))
        for kind, finish in waiting:
            if progress is not None:
                progress(len(FILES), len(FILES), kind.name)
            _finish(kind, finish, folder, out)
        return out


def _finish(kind: FileKind, finish: Callable[[], object], folder: Path, out: Written) -> None:
    """Finish a file whose failure must not cost the others."""
    try:
        finish()
    except OSError:
        raise
    except Exception as error:
        (folder / kind.name).unlink(missing_ok=True)
        out.left_out[kind.name] = f"{type(error).__name__}: {error}"
        warnings.warn(f"{kind.name} could not be made ({out.left_out[kind.name]})", stacklevel=2)
    else:
        out.files[kind.name] = kind.description


@contextmanager
def writer(request: Request) -> Iterator[Writer]:
    """A `Writer`, with a second process where that saves time."""
    rehearsals = dict.fromkeys(kind.rehearse for kind in FILES if kind.rehearse is not None and kind.wanted(request))
    process = SecondProcess()
    with process if rehearsals and available_cores() > 1 else nullcontext():
        for rehearse in rehearsals:
            process.start(rehearse)
        yield Writer(request, process)
