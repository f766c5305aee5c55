"""Finds torch as it would be found without the watcher, and has the watcher started when it has been imported."""
import sys


def watched(waiting, path, target):
    """The spec of torch; `waiting` is the finder in sys.meta_path that asks, and leaves once torch is there."""
    spec = None
    for finder in list(sys.meta_path):
        find = getattr(finder, 'find_spec', None)
        if finder is not waiting and find is not None:
            spec = find('torch', path, target)
            if spec is not None:
                break
    loader = getattr(spec, 'loader', None)
    if loader is None:
        return spec
    run = loader.exec_module

    def exec_module(module):
        run(module)
        if module.__name__ == 'torch':
            _imported(waiting, loader, exec_module, module)

    loader.exec_module = exec_module
    return spec


def _imported(waiting, loader, exec_module, module):
    try:
        if loader.__dict__.get('exec_module') is exec_module:
            del loader.exec_module
        if waiting in sys.meta_path:
            sys.meta_path.remove(waiting)
            from . import start
            start(module)
    except Exception:
        pass
