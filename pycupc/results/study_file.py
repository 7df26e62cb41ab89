"""The file of a folder that says of which data and arguments the other files there are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from pycupc.results.npz import Kind, whole_file
from pycupc.system.message import Argument, Message, Value


@dataclass(frozen=True)
class StudyFile:
    """A kind of such files: the name of the file, and the key of the identity in it."""

    name: str
    kind: Kind
    key: str

    def open(self, folder: str | PathLike[str], identity: dict[str, Any]) -> None:
        """Make the folder with its file, if it does not exist or is empty.

        `identity` is everything that determines the answer, ready for JSON; large values by their hash. ValueError if
        the folder holds other files, or another identity; the message names the arguments that differ.
        """
        found = self.read(Path(folder))
        if found is None:
            text = json.dumps({"format": self.kind.format, self.key: identity}, indent=1) + "\n"
            try:
                Path(folder).mkdir(parents=True, exist_ok=True)
                with whole_file(Path(folder) / self.name) as file:
                    file.write(text.encode())
            except OSError as error:
                raise ValueError(f"checkpoint {folder} cannot be written to: {error.strerror}") from error
        elif found != identity:
            text = f"checkpoint {{folder}} is of another {self.key}: {{differences}}; name another folder, or delete it"
            raise ValueError(Message(text, folder=str(folder), differences=_differences(found, identity)))

    def read(self, folder: Path) -> dict[str, Any] | None:
        """The identity in the file; None if the folder does not exist or is empty."""
        path = folder / self.name
        if folder.exists() and not folder.is_dir():
            raise ValueError(f"checkpoint {folder} is not a folder")
        if not path.exists():
            if folder.exists() and any(folder.iterdir()):
                raise ValueError(
                    f"checkpoint {folder} holds other files and no {self.name}; name an empty folder or a new one"
                )
            return None
        with self.kind.expected_at(path):  # JSON and UTF-8 errors are ValueErrors
            content = json.loads(path.read_text(encoding="utf-8"))
            if content["format"] != self.kind.format:
                raise ValueError(f"its format is {content['format']!r}, this version reads {self.kind.format!r}")
            if not isinstance(content[self.key], dict):
                raise ValueError(f"it names no {self.key}")
            return dict(content[self.key])


def _differences(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> Message:
    """The arguments that differ, with their values where they are short."""
    names = [name for name in {**wanted, **found} if found.get(name) != wanted.get(name)]
    texts: dict[str, str] = {}
    for name in names[:5]:
        before, now = found.get(name), wanted.get(name)
        hashes = any(isinstance(value, str) and len(value) == 64 for value in (before, now))
        changed = Message("{name} was {before}, now {now}", name=Argument(name), before=Value(before), now=Value(now))
        texts[name] = f"{name} differ" if hashes else changed
    return Message("; ".join(f"{{{name}}}" for name in texts) + ("; ..." if len(names) > 5 else ""), **texts)
