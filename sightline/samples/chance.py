"""Random generators that depend on what they are for, never on the order of calls or on the process."""

import hashlib
import json

import numpy as np


def chance(*key: str | int) -> np.random.Generator:
    """The generator that belongs to this key.

    The seed is a SHA-256 of the key written as JSON: Python's own `hash` of text differs between processes.
    """
    digest = hashlib.sha256(json.dumps(key).encode()).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest[:16], "big")))
