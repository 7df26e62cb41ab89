"""Writing the files of `pycupc.cli.files`, the slow ones in a second process."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pycupc.cli.files import FILES, FileKind, Request
from pycupc.cli.manifest import Written
from pycupc.machine import available_cores
from pycupc.second_process import SecondProcess

if TYPE_CHECKING:
    from pycupc.results.pcalgo import PcAlgo

#: Called with files begun, files, name of the file.
Progress = Callable[[int, int, str], None]


class Writer:
    """Writes results into a folder; begin it before the tests, so that its second process is ready after them.

    Parameters
    ----------
    request : Request
    process : SecondProcess or None
        Where the slow files are written; None to write them here.
    """

    def __init__(self, request: Request, process: SecondProcess | None = None) -> None:
        self._request, self._process = request, process

    def write(self, fit: PcAlgo, folder: Path, progress: Progress | None = None) -> Written:
        """Write the files of `fit`, and call ``progress(files begun, files, name)`` before each.

        Raises
        ------
        OSError
            A file cannot be written.
        """
        out, waiting = Written(), []
        for number, kind in enumerate(FILES):
            if not kind.wanted(self._request):
                continue
            if (reason := kind.left_out(fit, self._request)) is not None:
                out.left_out[kind.name] = reason
                continue
            if progress is not None:
                progress(number, len(FILES), kind.name)
            wait = self._begin(kind, kind.content(fit, self._request), folder / kind.name)
            if wait is None:
                out.files[kind.name] = kind.description
            else:
                waiting.append((kind, wait))
        for kind, wait in waiting:
            if progress is not None:
                progress(len(FILES), len(FILES), kind.name)
            _finish(kind, wait, folder, out)
        return out

    def _begin(self, kind: FileKind, content: Any, path: Path) -> Callable[[], None] | None:
        """Write a file, or begin to; returns a function that waits for its end."""
        if kind.rehearse is None:
            kind.write(content, path)
            return None
        if self._process is None:
            return lambda: kind.write(content, path)
        return self._process.start(kind.write, content, path)


def _finish(kind: FileKind, wait: Callable[[], None], folder: Path, out: Written) -> None:
    """Wait for a file whose failure must not cost the others."""
    try:
        wait()
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
    rehearsals = [kind.rehearse for kind in FILES if kind.rehearse is not None and kind.wanted(request)]
    if not rehearsals or available_cores() < 2:
        yield Writer(request)
        return
    with SecondProcess() as process:
        for rehearse in dict.fromkeys(rehearsals):
            process.start(rehearse)
        yield Writer(request, process)
