"""Writes lines into the watch pipe (docs/formats/watch-pipe.md), and never waits for whoever reads it."""
import os
import signal
import stat
import threading
import time

LONGEST = 4096  # Bytes of a line. Up to PIPE_BUF a write is whole or not at all, so lines of several processes never mix.
_PATIENCE = 1.0  # Seconds that pieces of a document wait for a reader who takes none


class Pipe:
    """A named pipe or a file. Opened when there is something to say; what cannot be said is left to the caller, never raised."""

    def __init__(self, path):
        self.path = os.path.join(path, 'watch') if path.endswith('/') else path
        self.makes = path.endswith('/')
        self.pause = 0.05  # Seconds between two lines of a process: 20 a second
        self.file = None
        self.identity = None
        self.waiting = []
        self.thread = None

    def forked(self):
        """In a forked child: what waits is the parent's to say."""
        self.waiting, self.thread = [], None

    def ready(self):
        """Whether somebody could read what is written now."""
        try:
            return self._opened()
        except OSError:
            return False

    def say(self, line):
        """One line, without its newline. False: not now (the pipe is full, or has no reader)."""
        try:
            if not self._opened():
                return False
            return self._write(line + b'\n')
        except OSError:
            self._close()
            return False

    def tell(self, lines):
        """Lines in order. Those that do not fit into the pipe now follow from a thread, as long as a reader takes some."""
        lines = list(lines)
        while lines and self.say(lines[0]):
            lines.pop(0)
        if lines:
            self.waiting += lines
            if self.thread is None or not self.thread.is_alive():
                self.thread = threading.Thread(target=self._tell_later, name='sharewell-watch', daemon=True)
                self.thread.start()

    def end(self, patience=0.3):
        """The process is about to end: what waits gets a last chance."""
        if self.thread is not None and self.thread.is_alive() and self.thread is not threading.current_thread():
            self.thread.join(patience)

    def _tell_later(self):
        waiting, until = self.waiting, time.monotonic() + _PATIENCE
        try:
            while waiting and time.monotonic() < until:
                if self.say(waiting[0]):
                    waiting.pop(0)
                    until = time.monotonic() + _PATIENCE
                else:
                    time.sleep(0.02)
        except Exception:
            pass
        del waiting[:]

    def _opened(self):
        if self.file is not None:
            try:  # A program that closed all of its files may have opened one of its own under this number.
                about = os.fstat(self.file)
                if (about.st_dev, about.st_ino) == self.identity:
                    return True
            except OSError:
                pass
            self.file = None
        make = os.O_CREAT | os.O_NOFOLLOW if self.makes else 0
        file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY | make, 0o600)
        if file <= 2:  # Standard input, output or error was closed: what is printed must not go into the pipe.
            import fcntl
            low, file = file, fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, 64)
            os.close(low)
        about = os.fstat(file)
        self.file, self.identity = file, (about.st_dev, about.st_ino)
        if stat.S_ISREG(about.st_mode):
            self.pause = 0.25  # An ordinary file grows, and is read once a second.
        return True

    def _write(self, line):
        # Where a program has SIGPIPE end it, a reader that went away must not.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGPIPE,))
        try:
            return os.write(self.file, line) == len(line)
        except BlockingIOError:
            return False
        except BrokenPipeError:
            self._close()
            if signal.SIGPIPE not in before:
                signal.sigtimedwait((signal.SIGPIPE,), 0)
            return False
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _close(self):
        file, self.file = self.file, None
        if file is not None:
            try:
                os.close(file)
            except OSError:
                pass
