"""Writing a file so that whoever reads it finds the old content or the new one, whatever happens meanwhile.

- The content goes to a temporary file in the same folder, reaches the disk (`fsync`), and takes the name
  (`os.replace`, which POSIX makes atomic); then the folder's entry reaches the disk.
- A writer holds a lock on its temporary file. The lock goes with the process, so the next writer of the same name
  can tell what a dead one left, and removes it.
- A file that exists keeps its permissions, a new one gets those of the umask; a symbolic link goes on pointing at
  the file that it points at.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import secrets
import stat
from collections.abc import Iterable

from .errors import FileError

Written = bytes | memoryview
_END = ".tenora-tmp"
_LONGEST_STEM = 200  # bytes: a file's name may have 255


def write_atomically(path: str, pieces: Iterable[Written]) -> None:
    """Replaces the file at `path` by the pieces, all of them or none.

    Raises:
        OSError: as `open(path, "wb")`, and when the disk is full; the old file is untouched then.
        FileError: the folder does not exist.
    """
    target = os.path.realpath(path)
    old = _existing(path, target)
    if old is not None and not stat.S_ISREG(old.st_mode):  # a pipe or device has no content to keep
        with open(target, "wb") as file:
            file.writelines(pieces)
        return
    folder, name = os.path.split(target)
    stem = _stem(name)
    try:
        _sweep(folder, stem)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise FileError(
            f"[save] {path}: got a folder that does not exist, expected one to write into. Make the folder first."
        ) from error
    descriptor, temporary = _create(folder, stem)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(pieces)
            file.flush()
            if old is not None:
                os.fchmod(descriptor, stat.S_IMODE(old.st_mode))
            os.fsync(descriptor)
            os.replace(temporary, target)  # under the lock, or a sweep could come between
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    _sync_folder(folder)


def _existing(path: str, target: str) -> os.stat_result | None:
    try:
        old = os.stat(target)
    except (FileNotFoundError, NotADirectoryError):
        return None
    # What open(path, "wb") refuses is refused, though replacing it would work.
    if stat.S_ISDIR(old.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
    return old


def _stem(name: str) -> str:
    short = len(os.fsencode(name)) <= _LONGEST_STEM
    return f".{name if short else hashlib.sha256(os.fsencode(name)).hexdigest()}."


def _create(folder: str, stem: str) -> tuple[int, str]:
    """A new locked file; the mode is the umask's."""
    while True:
        path = os.path.join(folder, f"{stem}{secrets.token_hex(8)}{_END}")
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        with contextlib.suppress(OSError):  # file systems without locks; there nothing is swept either
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:
            return descriptor, path
        os.close(descriptor)  # a sweep came between creation and lock


def _sweep(folder: str, stem: str) -> None:
    """Removes what dead writers of this name left."""
    with os.scandir(folder) as entries:
        left = [entry.path for entry in entries if entry.name.startswith(stem) and entry.name.endswith(_END)]
    for path in left:
        with contextlib.suppress(OSError):  # its writer lives, or another sweep was quicker
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                    os.unlink(path)
            finally:
                os.close(descriptor)


def _sync_folder(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        with contextlib.suppress(OSError):  # some network file systems do not sync folders
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
