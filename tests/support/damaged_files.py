"""Random damage to the bytes of a file."""

import numpy as np

#: Bytes that damage puts in: any, and those with a meaning in tables.
MEANINGFUL = b",;\t|\"'\n\r.-+eE0123456789 NA_\0\xff\xc3"


def damaged(rng, content):
    """`content` after one to four random changes: bytes replaced, put in, taken out, doubled, or cut off."""
    content = bytearray(content)
    for _ in range(int(rng.integers(1, 5))):
        at = int(rng.integers(len(content) + 1))
        end = min(len(content), at + int(rng.integers(1, 9)))
        if rng.random() < 0.5:
            new = bytes(rng.choice(list(MEANINGFUL), int(rng.integers(1, 4))).tolist())
        else:
            new = rng.bytes(int(rng.integers(1, 4)))
        kind = rng.integers(7)
        if kind == 0:
            content[at : at + len(new)] = new
        elif kind == 1:
            content[at:at] = new
        elif kind == 2:
            del content[at:end]
        elif kind == 3:
            content[at:at] = content[at:end]
        elif kind == 4 and rng.random() < 0.3:
            del content[at:]
        elif at < len(content):
            content[at] ^= 1 << int(rng.integers(8))
    return bytes(content)


def corrupted(data: bytes, rng: np.random.Generator) -> bytes:
    """The file after damage anywhere, or in the list of members at its end, where the sizes stand."""
    end = len(data) if rng.random() < 0.7 else 1200
    return data[:-end] + damaged(rng, data[-end:])
