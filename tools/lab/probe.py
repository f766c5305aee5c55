"""The short probe of the host (host_probe.py) inside a measured process, which has PyTorch and a CUDA context already."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'zoo'))

from host_probe import prepare, short  # noqa: E402, F401
