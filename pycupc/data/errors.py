"""The error that all readers of files raise."""

from __future__ import annotations


class DataError(ValueError):
    """A file cannot be read, or its content is not what was expected; the message names the file and the place."""
