"""The random numbers that the C++ example gets from <random>, so that Python and C++ ranks train on the same batches.

Implements std::mt19937_64, std::seed_seq, and libstdc++'s std::shuffle and std::normal_distribution.
"""

import math
from typing import Any, List, MutableSequence, Optional, Sequence

_WORDS = 312
_MASK = (1 << 64) - 1
_LOW = (1 << 31) - 1


class Mt19937_64:  # pylint: disable=invalid-name
    """std::mt19937_64, seeded with a number."""

    def __init__(self, seed: int, words: Optional[Sequence[int]] = None) -> None:
        if words is None:
            state = [seed & _MASK]
            for index in range(1, _WORDS):
                before = state[-1]
                state.append((6364136223846793005 * (before ^ (before >> 62)) + index) & _MASK)
        else:
            state = list(words)
        self._state = state
        self._next = _WORDS

    def __call__(self) -> int:
        if self._next == _WORDS:
            self._twist()
        value = self._state[self._next]
        self._next += 1
        value ^= (value >> 29) & 0x5555555555555555
        value ^= (value << 17) & 0x71D67FFFEDA60000
        value ^= (value << 37) & 0xFFF7EEE000000000
        return value ^ (value >> 43)

    def _twist(self) -> None:
        state = self._state
        for index in range(_WORDS):
            both = (state[index] & ~_LOW & _MASK) | (state[(index + 1) % _WORDS] & _LOW)
            state[index] = state[(index + 156) % _WORDS] ^ (both >> 1) ^ (0xB5026F5AA96619E9 if both & 1 else 0)
        self._next = 0


def from_seed_seq(seeds: Sequence[int]) -> Mt19937_64:
    """Returns a std::mt19937_64 seeded with a std::seed_seq of these 32-bit numbers."""
    halves = _generate(seeds, 2 * _WORDS)
    words = [halves[2 * index] | halves[2 * index + 1] << 32 for index in range(_WORDS)]
    if words[0] & ~_LOW & _MASK == 0 and not any(words[1:]):
        words[0] = 1 << 63
    return Mt19937_64(0, words)


def _generate(seeds: Sequence[int], count: int) -> List[int]:
    """std::seed_seq::generate()."""
    mask, size = 0xFFFFFFFF, len(seeds)
    out = [0x8B8B8B8B] * count
    shift = 11 if count >= 623 else 7 if count >= 68 else 5 if count >= 39 else 3 if count >= 7 else (count - 1) // 2
    middle = (count - shift) // 2
    rounds = max(size + 1, count)

    def mix(value: int) -> int:
        return value ^ (value >> 27)

    for k in range(rounds):
        at, near, far = k % count, (k + middle) % count, (k + middle + shift) % count
        first = 1664525 * mix(out[at] ^ out[near] ^ out[(k - 1) % count]) & mask
        second = first + (size if k == 0 else at + (seeds[k - 1] if k <= size else 0))
        out[near] = (out[near] + first) & mask
        out[far] = (out[far] + second) & mask
        out[at] = second & mask
    for k in range(rounds, rounds + count):
        at, near, far = k % count, (k + middle) % count, (k + middle + shift) % count
        third = 1566083941 * mix((out[at] + out[near] + out[(k - 1) % count]) & mask) & mask
        fourth = third - at
        out[near] ^= third
        out[far] ^= fourth & mask
        out[at] = fourth & mask
    return out


def _below(draw: Mt19937_64, limit: int) -> int:
    """std::uniform_int_distribution from 0 to limit - 1, as libstdc++ maps 64 bits to it."""
    product = draw() * limit
    if product & _MASK < limit:
        threshold = ((1 << 64) - limit) % limit
        while product & _MASK < threshold:
            product = draw() * limit
    return product >> 64


def shuffle(items: MutableSequence[Any], draw: Mt19937_64) -> None:
    """std::shuffle of libstdc++, which draws the places of two items at once."""
    at = 1
    if len(items) < 2:
        return
    if len(items) % 2 == 0:
        _swap(items, at, _below(draw, 2))
        at += 1
    while at < len(items):
        both = _below(draw, (at + 1) * (at + 2))
        _swap(items, at, both // (at + 2))
        _swap(items, at + 1, both % (at + 2))
        at += 2


def _swap(items: MutableSequence[Any], one: int, other: int) -> None:
    items[one], items[other] = items[other], items[one]


def normal(draw: Mt19937_64, count: int, deviation: float) -> List[float]:
    """Returns `count` numbers of a std::normal_distribution around 0."""
    values: List[float] = []
    while len(values) < count:
        while True:
            x, y = 2 * (draw() / 2**64) - 1, 2 * (draw() / 2**64) - 1
            square = x * x + y * y
            if 0 < square <= 1:
                break
        factor = math.sqrt(-2 * math.log(square) / square)
        values += [y * factor * deviation, x * factor * deviation]
    return values[:count]
