"""How files and folders are opened: never through a link, never left open in a program we start.

Systems without these flags can load this module, and are refused by `Workdir`.
"""

import os


def _flag(name: str) -> int:
    return getattr(os, name, 0)


_ALWAYS = _flag("O_NOFOLLOW") | _flag("O_CLOEXEC")

FOLDER = os.O_RDONLY | _flag("O_DIRECTORY") | _ALWAYS
# Without waiting: a pipe in the place of a file would hold the call for ever.
READ = os.O_RDONLY | _flag("O_NONBLOCK") | _flag("O_NOCTTY") | _ALWAYS
CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _ALWAYS
