"""Keys of networks and of equivalence classes, by which streams know what they have found before.

A key has 128 bits that look random: among a million networks, two have the same key with a
probability of 2**-88. It is the exclusive or of the hashes of a network's families, or of what the
networks of an equivalence class share: their joined pairs and their v-structures.
"""

from __future__ import annotations

import numpy as np
from numba import uint64

from skbn._core.compile import inner_kernel, kernel

__all__ = ["copy_keys", "is_new", "mix", "set_class_key", "set_network_key"]

# Constants of the hash function splitmix64 (Steele, Lea & Flood 2014).
_STEP = np.uint64(0x9E3779B97F4A7C15)
_FACTOR_1 = np.uint64(0xBF58476D1CE4E5B9)
_FACTOR_2 = np.uint64(0x94D049BB133111EB)
_SHIFT_1 = np.uint64(30)
_SHIFT_2 = np.uint64(27)
_SHIFT_3 = np.uint64(31)
_TWO_BYTES = np.uint64(16)
_FOUR_BYTES = np.uint64(32)
_ONE = np.uint64(1)
_WORD = 64
# In a key, what stands for the child of an edge, where v-structures have the number of theirs.
_NO_CHILD = 0xFFFF


@inner_kernel
def set_network_key(keys, new, rest, x, family, parents):
    """Set the key of a network: that of the network without its sink, and that of the family."""
    for word in range(2):
        mixed = mix(np.uint64(2 * x + word))
        for i in range(parents.shape[1]):
            mixed = mix(mixed ^ parents[family, i])
        keys[new, word] = keys[rest, word] ^ mixed


@inner_kernel
def set_class_key(keys, new, rest, child, family, parents, sinks, members, family_of):
    """Set the key of a network's equivalence class: its joined pairs, and its v-structures.

    Two parents of the sink are joined if one of them is a parent of the other. If neither is a
    sink, an edge between them is no part of these networks, and the pair is left out: networks
    with the same edges to the sink agree on it.
    """
    n = 0
    for v in range(sinks.size):
        if _has(parents, family, v):
            members[n] = v
            n += 1
    for word in range(2):
        keys[new, word] = keys[rest, word]
    for i in range(n):
        u = members[i]
        _add_to_key(keys, new, min(u, child), max(u, child), _NO_CHILD)
        for k in range(i + 1, n):
            v = members[k]
            if sinks[u] >= 0 or sinks[v] >= 0:
                is_child_u = sinks[u] >= 0 and _has(parents, family_of[sinks[u]], v)
                is_child_v = sinks[v] >= 0 and _has(parents, family_of[sinks[v]], u)
                if not (is_child_u or is_child_v):
                    _add_to_key(keys, new, u, v, child)


@inner_kernel
def _has(parents, family, v):
    return parents[family, v // _WORD] >> np.uint64(v % _WORD) & _ONE == _ONE


@inner_kernel
def _add_to_key(keys, new, u, v, x):
    triple = np.uint64(u) | np.uint64(v) << _TWO_BYTES | np.uint64(x) << _FOUR_BYTES
    keys[new, 0] ^= mix(triple)
    keys[new, 1] ^= mix(~triple)


@inner_kernel
def mix(z):
    """Return 64 bits that look random, by splitmix64."""
    z += _STEP
    z = (z ^ z >> _SHIFT_1) * _FACTOR_1
    z = (z ^ z >> _SHIFT_2) * _FACTOR_2
    return z ^ z >> _SHIFT_3


@inner_kernel
def is_new(seen, word, other):
    """Add a key to the hash table; return whether it is new. Free entries are 0, 0."""
    i = _place_of_key(seen, word, other)
    if seen[i, 0] == word and seen[i, 1] == other:
        return False
    seen[i, 0] = word
    seen[i, 1] = other
    return True


@inner_kernel
def _place_of_key(seen, word, other):
    """Return the entry of a key, or the free entry for it."""
    i = np.int64(word & np.uint64(seen.shape[0] - 1))
    while (seen[i, 0] != 0 or seen[i, 1] != 0) and (seen[i, 0] != word or seen[i, 1] != other):
        i = (i + 1) & (seen.shape[0] - 1)
    return i


@kernel(uint64[:, ::1], uint64[:, ::1])
def copy_keys(seen, larger):
    """Copy the keys of a hash table to a larger one."""
    for i in range(seen.shape[0]):
        if seen[i, 0] != 0 or seen[i, 1] != 0:
            j = _place_of_key(larger, seen[i, 0], seen[i, 1])
            larger[j, 0] = seen[i, 0]
            larger[j, 1] = seen[i, 1]
