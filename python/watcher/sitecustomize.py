"""Runs at the start of every Python of a watched job, and does nothing until PyTorch is imported (docs/watcher.md).

Its folder stands in front of PYTHONPATH, so it hides the environment's own sitecustomize and runs that one too. Any Python gets here,
Python 2 as well, and often there is nobody who may keep it compiled: it is short. The rest is in the package beside it.
"""
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


class _Torch(object):
    """Waits in sys.meta_path for the import of torch."""

    def find_spec(self, name, path=None, target=None):
        if name != 'torch':
            return None
        try:
            return self.package().importing.watched(self, path, target)
        except Exception:
            return None  # The finders behind this one find it, or say what is wrong.

    def package(self):
        if 'sharewell_watch' not in sys.modules:
            from importlib import util
            place = os.path.join(_HERE, 'sharewell_watch')
            spec = util.spec_from_file_location('sharewell_watch', os.path.join(place, '__init__.py'), submodule_search_locations=[place])
            sys.modules['sharewell_watch'] = package = util.module_from_spec(spec)
            spec.loader.exec_module(package)
        return sys.modules['sharewell_watch']


def _environments_own():
    """Runs the sitecustomize that would have run without this one. What it raises is its own matter, as ever."""
    # Nobody else imports from this folder, and a program that looks at its path sees its own.
    sys.path[:] = rest = [place for place in sys.path if os.path.abspath(place) != _HERE]
    for finder in list(sys.meta_path):  # Python 2 has none.
        find = getattr(finder, 'find_spec', None)
        spec = find('sitecustomize', rest) if find is not None else None
        if spec is not None and spec.loader is not None:
            sys.modules['sitecustomize'] = module = sys.modules['_frozen_importlib'].module_from_spec(spec)
            spec.loader.exec_module(module)
            return
    if sys.version_info < (3,):
        import imp
        try:
            found = imp.find_module('sitecustomize', rest)
        except ImportError:
            return
        del sys.modules['sitecustomize']
        imp.load_module('sitecustomize', *found)


try:
    if sys.version_info >= (3, 8) and os.environ.get('SHAREWELL_WATCH_PIPE') and os.environ.get('SHAREWELL_WATCH') != '0':
        if 'torch' in sys.modules:  # A .pth file was first.
            _Torch().package().start(sys.modules['torch'])
        else:
            sys.meta_path.insert(0, _Torch())
except Exception:
    pass
_environments_own()
