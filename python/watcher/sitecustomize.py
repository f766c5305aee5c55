"""Runs at the start of every Python of a watched job, and does nothing until PyTorch is imported (docs/watcher.md).

Its folder stands in front of PYTHONPATH. It hides the environment's own sitecustomize, so it runs that one too. Any Python may get
here, Python 2 as well: what needs a newer one is in the package beside it, which is read when torch is imported, never before.
"""
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


class _Torch(object):
    """Waits in sys.meta_path for the import of torch, and has the watcher started right after it."""

    def find_spec(self, name, path=None, target=None):
        if name != 'torch':
            return None
        try:
            return self._watched(path, target)
        except Exception:
            return None  # The finders behind this one find it, or say what is wrong.

    def _watched(self, path, target):
        spec = None
        for finder in list(sys.meta_path):
            find = getattr(finder, 'find_spec', None)
            if finder is not self and find is not None:
                spec = find('torch', path, target)
                if spec is not None:
                    break
        loader = getattr(spec, 'loader', None)
        if loader is None:
            return None
        run = loader.exec_module

        def exec_module(module):
            run(module)
            if module.__name__ == 'torch':
                if loader.__dict__.get('exec_module') is exec_module:
                    del loader.exec_module
                self.start(module)

        loader.exec_module = exec_module
        return spec

    def start(self, module):
        try:
            if self in sys.meta_path:
                sys.meta_path.remove(self)
            if 'sharewell_watch' not in sys.modules:
                from importlib import util
                place = os.path.join(_HERE, 'sharewell_watch')
                spec = util.spec_from_file_location('sharewell_watch', os.path.join(place, '__init__.py'), submodule_search_locations=[place])
                package = util.module_from_spec(spec)
                sys.modules['sharewell_watch'] = package
                spec.loader.exec_module(package)
                package.start(module)
        except Exception:
            pass


def _environments_own():
    """The sitecustomize that would have run without this one. What it raises is its own matter, as ever."""
    rest = [place for place in sys.path if os.path.abspath(place) != _HERE]
    sys.path[:] = rest  # Nobody else imports from this folder, and a program that looks at its path sees its own.
    if sys.version_info < (3, 4):
        import imp
        try:
            file, name, description = imp.find_module('sitecustomize', rest)
        except ImportError:
            return
        del sys.modules['sitecustomize']
        imp.load_module('sitecustomize', file, name, description)
        return
    for finder in list(sys.meta_path):
        find = getattr(finder, 'find_spec', None)
        spec = find('sitecustomize', rest) if find is not None else None
        if spec is not None and spec.loader is not None:
            module = sys.modules['_frozen_importlib'].module_from_spec(spec)
            sys.modules['sitecustomize'] = module
            spec.loader.exec_module(module)
            return


def _wait():
    if sys.version_info < (3, 8) or not os.environ.get('SHAREWELL_WATCH_PIPE') or os.environ.get('SHAREWELL_WATCH') == '0':
        return
    waiting = _Torch()
    if 'torch' in sys.modules:  # A .pth file was first.
        waiting.start(sys.modules['torch'])
    else:
        sys.meta_path.insert(0, waiting)


try:
    _wait()
except Exception:
    pass
_environments_own()
