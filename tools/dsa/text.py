"""The text: Python's own library sources as one long sequence of tokens."""

from __future__ import annotations

import re
import sysconfig
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

# Words and numbers whole, every other visible character by itself.
_TOKEN = re.compile(r"\w+|[^\w\s]")

# Not part of every installation (Debian has packages for some), so not part of the text.
_SKIPPED_FOLDERS = frozenset(
    {"site-packages", "dist-packages", "test", "tests", "idlelib", "lib2to3", "tkinter"}
)

# Generated: a hundred code tables, near-copies that flatter any recall, and the build's settings.
_GENERATED = re.compile(r"encodings/|_sysconfigdata")


@dataclass(frozen=True)
class Corpus:
    """Tokens with their places in the text.

    Attributes:
        text: The sources, one after another.
        starts, stops: Character range of each token in ``text``, shape (tokens,).
        ids: Vocabulary number of each token, shape (tokens,).
        vocabulary: Token of each number, in order of first appearance.
        file_names: Sources in the order of the text, relative to the library's folder.
        file_starts: First token of each source.
    """

    text: str
    starts: npt.NDArray[np.int64]
    stops: npt.NDArray[np.int64]
    ids: npt.NDArray[np.int64]
    vocabulary: list[str]
    file_names: list[str]
    file_starts: list[int]

    def __len__(self) -> int:
        return len(self.ids)

    def file_of(self, position: int) -> str:
        """Name of the source that holds the token at ``position``."""
        return self.file_names[bisect_right(self.file_starts, position) - 1]

    def token(self, position: int) -> str:
        """The token at ``position``."""
        return self.vocabulary[int(self.ids[position])]

    def snippet(self, position: int, *, before: int, after: int = 0) -> tuple[str, str, str]:
        """Text before, at and after the token at ``position``, white space squeezed.

        ``before`` and ``after`` are lengths in characters of the result.
        """
        start, stop = int(self.starts[position]), int(self.stops[position])
        # Indentation is squeezed away below, so look back further than asked.
        left = self.text[max(0, start - 8 * before) : start]
        right = self.text[stop : stop + 8 * after]
        return _squeeze(left)[-before:], self.text[start:stop], _squeeze(right)[:after]


def _squeeze(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def _sources(library: Path) -> Iterator[tuple[str, str]]:
    """Relative name and contents of every source, in an order that no file system decides."""
    paths = (path.relative_to(library) for path in library.rglob("*.py"))
    names = (path.as_posix() for path in paths if not _SKIPPED_FOLDERS.intersection(path.parts))
    for name in sorted(name for name in names if not _GENERATED.match(name)):
        yield name, (library / name).read_text(encoding="utf-8", errors="replace")


def read_corpus(max_tokens: int) -> Corpus:
    """Tokenise the library sources of the running Python, up to ``max_tokens`` tokens."""
    number_of: dict[str, int] = {}
    texts: list[str] = []
    ids: list[int] = []
    starts: list[int] = []
    stops: list[int] = []
    file_names: list[str] = []
    file_starts: list[int] = []
    base = 0
    for name, text in _sources(Path(sysconfig.get_path("stdlib"))):
        file_names.append(name)
        file_starts.append(len(ids))
        for match in _TOKEN.finditer(text):
            ids.append(number_of.setdefault(match.group(), len(number_of)))
            starts.append(base + match.start())
            stops.append(base + match.end())
        texts.append(text)
        base += len(text)
        if len(ids) >= max_tokens:
            break
    return Corpus(
        text="".join(texts),
        starts=np.array(starts[:max_tokens], dtype=np.int64),
        stops=np.array(stops[:max_tokens], dtype=np.int64),
        ids=np.array(ids[:max_tokens], dtype=np.int64),
        vocabulary=list(number_of)[: 1 + max(ids[:max_tokens])],
        file_names=file_names,
        file_starts=file_starts,
    )
