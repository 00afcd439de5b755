"""Outputs appear whole or not at all, and a failure is a sentence.

An output is written beside its place first, forced to the disk and then renamed: no kill, full disk
or power cut leaves half of it under its name. `new_folder` is for an output that is a folder;
within it files are written as they come. `whole_file` is for one file of a folder that grows.
"""

import errno
import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_IMODE, S_ISREG
from typing import Any

from longsynth.system.errors import Code, Note, Refused, ReleaseError, is_interrupt, notes
from longsynth.system.text import command_line

INTERNAL = "internal"  # what a folder is called whose content shows patients
ELSEWHERE = "choose another output path"
REMEDIES = {
    errno.ENOSPC: f"Free some space, or {ELSEWHERE}.",
    errno.EDQUOT: f"Free some space, or {ELSEWHERE}.",
    errno.EFBIG: f"Raise the limit on the size of a file (ulimit -f), or {ELSEWHERE}.",
    errno.EROFS: "Choose another output path.",
    errno.EACCES: f"Ask for permission to write there, or {ELSEWHERE}.",
    errno.EPERM: f"Ask for permission to write there, or {ELSEWHERE}.",
    errno.ENAMETOOLONG: "Choose a shorter output path.",
    errno.ENOTDIR: f"A part of the path is a file: {ELSEWHERE}.",
    errno.EEXIST: f"A part of the path is a file: {ELSEWHERE}.",
    errno.EIO: "The disk may be failing: see the system's log.",
}
_scratches: set[Path] = set()  # those that this process is writing


def system_refusal(problem: str, error: OSError) -> Refused:
    """Return a refusal with the system's own words and a remedy. The error's text is left out: a
    library chose it."""
    words = os.strerror(error.errno) if error.errno else "the system gives no reason"
    remedy = REMEDIES.get(error.errno or 0, "Check the path and the disk, and try again.")
    refusal = Refused(Code.OUTPUT_NOT_WRITTEN, f"{problem}: {words}.", remedy)
    refusal.__notes__ = notes(error)
    return refusal


def not_written(path: Path, error: OSError) -> Refused:
    return system_refusal(f"{path} could not be written", error)


@contextmanager
def new_folder(target: Path, *, owner_only: bool = False) -> Iterator[Path]:
    """Yield a scratch folder beside the target; on success it becomes the target.

    On any failure, an interrupt included, it is removed and nothing stands at the target. Nobody
    but its owner can look into it meanwhile, nor later if `owner_only`, nor ever into a folder in
    it that is called internal. A process that was killed outright leaves `.NAME.partial` behind;
    the next one with the same target removes it. Of two at once, one is refused before it starts.
    """
    _require_absent(target)
    scratch = target.with_name(f".{target.name}.partial")
    nested = _in_scratch(target)
    lock, claimed = None, False
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        lock, claimed = _claim(scratch, target), True
        _scratches.add(scratch)
        _require_absent(target)  # the one before us may just have finished
        mode = S_IMODE(scratch.stat().st_mode)
        scratch.chmod(mode & 0o7000 | 0o700)
        yield scratch
        _keep_to_owner(scratch, everything=owner_only)
        if not nested:
            _force_all(scratch)
        scratch.chmod(mode & 0o7700 if owner_only else mode)
        _put(scratch, target)
        claimed = False
    except OSError as error:
        if nested:
            raise
        raise not_written(target, error) from None
    except BaseException as error:
        if is_interrupt(error) and not nested:
            error.add_note(Note(_after_interrupt(target, scratch)))
        raise
    finally:
        _scratches.discard(scratch)
        _remove(scratch, claimed)
        if lock is not None:
            os.close(lock)


@contextmanager
def whole_file(path: Path, scratch_in: Path | None = None) -> Iterator[Path]:
    """Yield a path to write to; it takes this one's place once it is whole. It is beside this one,
    or in `scratch_in`, where this one's folder must never hold another file."""
    scratch = (scratch_in or path.parent) / f".{path.name}.{os.getpid()}.partial"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.parent.name == INTERNAL:
            scratch.touch(mode=0o600)
        yield scratch
        _force(scratch)
        scratch.replace(path)
        _force(path.parent)
    except OSError as error:
        if _in_scratch(path):
            raise
        raise not_written(path, error) from None
    finally:
        with suppress(OSError):
            scratch.unlink(missing_ok=True)


def write_whole(path: Path, content: bytes, scratch_in: Path | None = None) -> None:
    with whole_file(path, scratch_in) as scratch:
        scratch.write_bytes(content)


def _in_scratch(path: Path) -> bool:
    """Whether the folder around it is still being written, and will answer for all of it."""
    return not _scratches.isdisjoint(path.parents)


def _require_absent(target: Path) -> None:
    """Refuse a path that is taken, also by a link that leads nowhere."""
    if target.name in ("", "..") or os.path.lexists(target):
        raise Refused(
            Code.OUTPUT_EXISTS,
            f"{target} already exists.",
            "Choose another output path, or remove it first.",
        )


def _claim(scratch: Path, target: Path) -> int | None:
    """Make the scratch folder and lock it for as long as this process lives.

    The lock is on the folder itself and moves with it. None where the file system has no locks.
    """
    while True:
        try:
            scratch.mkdir()
        except FileExistsError:
            _remove_abandoned(scratch, target)
            continue
        try:
            return lock_folder(scratch)
        except FileNotFoundError:  # someone took it for abandoned already: make it again
            continue
        except BlockingIOError:
            raise _busy(target) from None
        except OSError:
            return None


def lock_folder(folder: Path) -> int:
    """Return a lock on a folder. FileNotFoundError: it is not, or no longer, at its
    place. BlockingIOError: another process has locked it."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not os.path.samestat(os.fstat(opened), folder.lstat()):
            raise FileNotFoundError
        return opened  # within `try`: an interrupt here must not keep the lock
    except BaseException:
        os.close(opened)
        raise


def _busy(target: Path) -> Refused:
    return Refused(
        Code.OUTPUT_BUSY,
        f"another command is writing {target}.",
        f"Wait for it, or {ELSEWHERE}.",
    )


def _remove_abandoned(scratch: Path, target: Path) -> None:
    """Remove what a killed process left; refuse if that process lives, or if nobody can tell."""
    lock = None
    try:
        lock = lock_folder(scratch)
        shutil.rmtree(scratch)
        return
    except FileNotFoundError:
        return
    except BlockingIOError:
        raise _busy(target) from None
    except OSError:  # not a folder, not ours to remove, or a file system without locks
        pass
    finally:
        if lock is not None:
            os.close(lock)
    raise Refused(
        Code.OUTPUT_BUSY,
        f"{scratch} exists: another command is writing {target}, or one was killed.",
        "If none is running, remove it. It may hold raw facts about patients.",
    )


def _put(scratch: Path, target: Path) -> None:
    """Rename. Check once more first, since an empty folder would be replaced silently."""
    _require_absent(target)
    try:
        scratch.rename(target)
    except OSError as error:
        if error.errno in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
            _require_absent(target)
        raise
    try:
        _force(target.parent)
    except OSError as error:
        raise system_refusal(
            f"{target} is there, but the disk does not confirm it", error
        ) from None


def _after_interrupt(target: Path, scratch: Path) -> str:
    if os.path.lexists(target) and not os.path.lexists(scratch):
        return f"{target} was finished just before, and is whole."
    return f"Nothing was written at {target}: run the same command to start again."


def _remove(scratch: Path, claimed: bool) -> None:
    """Remove what is left of our scratch folder; an interrupt meanwhile does not stop that."""
    while os.path.lexists(scratch):
        with suppress(KeyboardInterrupt):
            if claimed:
                shutil.rmtree(scratch, ignore_errors=True)
            else:  # perhaps ours: the interrupt may have come right after it was made
                with suppress(OSError, Refused):
                    _remove_abandoned(scratch, scratch)
            return


def _keep_to_owner(folder: Path, *, everything: bool) -> None:
    """Let nobody but the owner read what is internal, whatever the umask says."""
    for root, _, names in os.walk(folder):
        inner = Path(root).relative_to(folder)
        if everything or INTERNAL in inner.parts:
            for path in (Path(root), *(Path(root, name) for name in names)):
                path.chmod(S_IMODE(path.stat().st_mode) & 0o7700)


def _force_all(folder: Path) -> None:
    for root, _, names in os.walk(folder, topdown=False):
        for name in names:
            _force(Path(root, name))
        _force(Path(root))


def _force(path: Path) -> None:
    """Wait until the disk has it: else a rename can survive a power cut and its data not."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some disks cannot force a folder
            raise
    finally:
        os.close(opened)


def regular_size(path: Path) -> int:
    """Return the size of a regular file. A link, a pipe or a device could hang a reader."""
    try:
        status = path.lstat()
    except OSError as error:
        raise ReleaseError(
            Code.NOT_A_RELEASE,
            f"{path} cannot be read: {error.strerror}.",
            "Give a folder that `longsynth fit` wrote, for example RUN/release. To see what this "
            f"folder is, run `{command_line('status', path.parent)}`.",
        ) from None
    if not S_ISREG(status.st_mode):
        raise altered(f"{path} is not a file that longsynth writes.")
    return status.st_size


def altered(problem: str) -> ReleaseError:
    """Return the refusal of a folder that is not as longsynth wrote it."""
    return ReleaseError(
        Code.RELEASE_ALTERED, problem, "Ask for the folder again, from whoever wrote it."
    )


def as_json(content: Mapping[str, Any]) -> bytes:
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()
