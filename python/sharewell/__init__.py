"""Client of the Sharewell server, and what a training loop tells it. The standard library only.

    import sharewell
    job = sharewell.Client().submit(["python3", "train.py"], gpus=1)
    print(job.wait().phase)

In a training loop: report_step() after each step, report_metric() for its loss, on_stop() to checkpoint before the job is moved or cancelled.
"""
from .client import Client, Event, Job
from .metrics import report_metric
from .training import on_stop, report_step, stopping
from .transport import Error, ServerError, Unreachable

__all__ = ["Client", "Error", "Event", "Job", "ServerError", "Unreachable", "on_stop", "report_metric", "report_step", "stopping"]


def __getattr__(name: str) -> str:
    """`__version__`: of the package as it was installed; the sources by themselves do not know it."""
    if name != "__version__":
        raise AttributeError(f"module 'sharewell' has no attribute {name!r}")
    from importlib import metadata
    return metadata.version("sharewell")
