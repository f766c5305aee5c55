"""Which script a command runs, as `sharewell submit` tells it: a server that runs as root opens no files for others."""
import os
from typing import Optional, Sequence

_LARGEST = 4 << 20
_MASK = (1 << 64) - 1


def script_digest(command: Sequence[str], folder: str) -> Optional[str]:
    """32 hexadecimal digits of the script's path and of what it says, the same as the command line's (cli/commands/jobs/script_digest.h); None: no
    script that can be read."""
    for i, word in enumerate(command):
        module = word == "-m" and i + 1 < len(command)
        path = _file_of_module(command[i + 1], folder) if module else os.path.join(folder, word)
        named = os.path.splitext(path)[1] in (".py", ".sh")
        own = i == 0 and "/" in word  # "./run"
        if not (module or own or named):
            continue
        text = _text(path)
        if text is None or own and not named and not text.startswith(b"#!"):
            continue
        return _digest(os.fsencode(os.path.normpath(path)) + b"\0" + text)
    return None


def _file_of_module(module: str, folder: str) -> str:
    path = os.path.join(folder, module.replace(".", "/"))
    return path + ".py" if os.path.exists(path + ".py") else os.path.join(path, "__main__.py")


def _text(path: str) -> Optional[bytes]:
    try:
        if not os.path.isfile(path) or os.path.getsize(path) > _LARGEST:
            return None
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None


def _digest(text: bytes) -> str:
    """core/key_digest.h. No secret is kept by it."""
    a, b = 0xcbf29ce484222325, 0x9ae16a3b2f90404f
    for byte in text:
        a = (a ^ byte) * 0x100000001b3 & _MASK
        b = (b ^ byte) + 0x9e3779b97f4a7c15 & _MASK
        b = (b ^ b >> 30) * 0xbf58476d1ce4e5b9 & _MASK
        b = (b ^ b >> 27) * 0x94d049bb133111eb & _MASK
        b ^= b >> 31
    return f"{a:016x}{b:016x}"
