"""A reader's errors may quote a cell; what is raised instead cannot."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pyarrow as pa

from longsynth.errors import CohortError


@contextmanager
def unquoted(folder: Path, problem: str = "cannot be read: is a file damaged?") -> Iterator[None]:
    """Turn a reader's error, whose text may quote a cell, into one that cannot."""
    try:
        yield
    except (duckdb.OutOfMemoryException, MemoryError) as error:
        error.args = ()
        raise CohortError(
            f"{folder} needs more memory or disk space to be sorted than there is: free some, or "
            "leave out variables."
        ) from None
    except (duckdb.Error, pa.ArrowException, OSError, UnicodeDecodeError) as error:
        error.args = ()  # its text, which stays within reach of whoever catches ours
        raise CohortError(f"{folder} {problem}") from None
