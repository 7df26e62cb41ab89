"""Text of users, such as labels, in files of other formats."""

from __future__ import annotations

import re

_CONTROL = re.compile("[\u0000-\u001f\u007f-\u009f\u2028\u2029\ud800-\udfff\ufffe\uffff]")


def printable(text: str) -> str:
    """`text` with a question mark for each control character, newlines included, and each that XML does not allow."""
    return _CONTROL.sub("?", text)
