"""Damage to bytes: what disks, transfers, editors and hostile people do to a file."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from numpy.random import Generator

Option = TypeVar("Option")

LARGEST = 300_000  # bytes of an input
TOKENS = (
    *(b'"', b'""', b"'", b",", b";", b"\t", b"\n", b"\r", b"\r\n", b"\x00", b"\x1e", b"\x85"),
    *(b"\xff", b"\xfe", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\xed\xa0\x80", b"\xc0\x80", b"\x1b[2J"),
    *(b"{", b"}", b"[", b"]", b":", b"- ", b"&a ", b"*a", b"<<: ", b"!!int ", b"!!x ", b"---\n"),
    *(b"nan", b"NaN", b"Infinity", b"-inf", b"1e999", b"-0", b"null", b"true", b"0x1F", b"\\ud800"),
    *(
        b"9" * 400,
        b"18446744073709551616",
        b"-9223372036854775809",
        b"1e308",
        b"PAR1",
        b"../",
        b"%s",
    ),
    *(b"\xff\xff\xff\xff\x0f", b"\xff" * 9 + b"\x01", b"\x80\x00", b"\xac\x02"),  # thrift varints
)


def mutated(content: bytes, rng: Generator, *, most: int = 5) -> bytes:
    """Return the content after one to `most` accidents."""
    for _ in range(int(rng.integers(1, most + 1))):
        content = one_of(rng, DAMAGES)(content, rng)[:LARGEST]
    return content


def token(rng: Generator) -> bytes:
    return one_of(rng, TOKENS)


def _place(content: bytes, rng: Generator) -> int:
    return int(rng.integers(len(content) + 1))


def _piece(content: bytes, rng: Generator) -> tuple[int, int]:
    start = _place(content, rng)
    return start, min(len(content), start + int(rng.integers(1, 40)))


def flip_a_bit(content: bytes, rng: Generator) -> bytes:
    if not content:
        return content
    at = int(rng.integers(len(content)))
    return content[:at] + bytes([content[at] ^ (1 << rng.integers(8))]) + content[at + 1 :]


def set_a_byte(content: bytes, rng: Generator) -> bytes:
    at = _place(content, rng)
    return content[:at] + rng.bytes(1) + content[at + 1 :]


def overwrite(content: bytes, rng: Generator) -> bytes:
    start, end = _piece(content, rng)
    return content[:start] + rng.bytes(end - start) + content[end:]


def insert(content: bytes, rng: Generator) -> bytes:
    at = _place(content, rng)
    return content[:at] + token(rng) + content[at:]


def replace(content: bytes, rng: Generator) -> bytes:
    start, end = _piece(content, rng)
    return content[:start] + token(rng) + content[end:]


def remove(content: bytes, rng: Generator) -> bytes:
    start, end = _piece(content, rng)
    return content[:start] + content[end:]


def repeat(content: bytes, rng: Generator) -> bytes:
    start, end = _piece(content, rng)
    return content[:end] + content[start:end] * int(2 ** rng.integers(0, 10)) + content[end:]


def move(content: bytes, rng: Generator) -> bytes:
    start, end = _piece(content, rng)
    rest = content[:start] + content[end:]
    at = _place(rest, rng)
    return rest[:at] + content[start:end] + rest[at:]


def cut(content: bytes, rng: Generator) -> bytes:
    at = _place(content, rng)
    return content[:at] if rng.random() < 0.7 else content[at:]


def swell(content: bytes, rng: Generator) -> bytes:
    """A token many thousand times: a huge field, a huge number, deep nesting."""
    at, unit = _place(content, rng), token(rng)
    return content[:at] + unit * int(100_000 // len(unit) * rng.random()) + content[at:]


def swap_lines(content: bytes, rng: Generator) -> bytes:
    lines = content.split(b"\n")
    a, b = (int(n) for n in rng.integers(len(lines), size=2))
    lines[a], lines[b] = lines[b], lines[a]
    return b"\n".join(lines)


def double_a_line(content: bytes, rng: Generator) -> bytes:
    lines = content.split(b"\n")
    at = int(rng.integers(len(lines)))
    return b"\n".join([*lines[: at + 1], *lines[at:]])


Damage = Callable[[bytes, Generator], bytes]
_USUAL: tuple[Damage, ...] = (
    *(flip_a_bit, set_a_byte, overwrite, insert, replace, remove),
    *(repeat, move, swap_lines, double_a_line),
)
DAMAGES: tuple[Damage, ...] = (*_USUAL, *_USUAL, *_USUAL, cut, cut, swell)


def one_of(rng: Generator, options: Sequence[Option]) -> Option:
    """Return one of the options, each as likely as any other."""
    return options[int(rng.integers(len(options)))]
