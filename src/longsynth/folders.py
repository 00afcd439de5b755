"""Output folders appear whole or not at all."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from longsynth.errors import Refused


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """Yield a scratch folder beside the target and rename it on success.

    On any failure, an interrupt included, the scratch folder is removed and nothing stands at
    the target.
    """
    if target.exists():
        raise Refused(f"{target} exists already: choose another --out, or remove it first.")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=f".{target.name}.partial-", dir=target.parent))
    except OSError as error:
        raise Refused(f"{target} cannot be created: {error.strerror}.") from None
    try:
        yield scratch
        scratch.chmod(0o755)
        scratch.replace(target)
    except KeyboardInterrupt:
        raise Refused(
            f"interrupted: nothing was written at {target}. Run the same command to start again."
        ) from None
    except OSError as error:
        raise Refused(f"{target} could not be written: {error.strerror}.") from None
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
