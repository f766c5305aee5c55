"""What was measured (data/h200): rows as plain dictionaries, with their graphs. From a folder or from the archive of `make data-archive`.

    from sharewell import measurements
    data = measurements.Measurements("data/h200")          # or "sharewell-h200.tar.gz"
    for row in data.profiles():
        print(row["workload"], row["steps_per_s"], row["graph"])
    graph = data.graph(row)                                 # bytes of an ONNX file; None where there is none

A list of dictionaries is what pandas.DataFrame() takes.
"""
import csv
import io
import os
import pathlib
import tarfile
from typing import Any, Dict, List, Optional, Union

Row = Dict[str, Any]
TEXT = {"workload", "precision", "gpu", "onnx", "optimizer", "family", "model"}


def value(column: str, text: str) -> Union[None, int, float, str]:
    """A number where it is one, None where the field is empty: unknown, not zero."""
    if text == "":
        return None
    if (column[:-2] if column.endswith(("_a", "_b")) else column) in TEXT:
        return text
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


class Measurements:
    """The files of one folder, or of an archive that has that folder in it."""

    def __init__(self, place: Union[str, "os.PathLike[str]"]) -> None:
        self.place = pathlib.Path(place)
        self._files: Optional[Dict[str, bytes]] = None
        if self.place.is_dir():
            return
        if not self.place.exists():
            raise FileNotFoundError(f"{self.place}: no such folder or archive; name the folder data/h200 of the repository, or what `make data-archive` made")
        self._files = {}
        with tarfile.open(self.place) as archive:
            for member in archive:
                file = archive.extractfile(member) if member.isfile() else None
                if file is not None:
                    self._files[member.name.partition("/")[2]] = file.read()

    def names(self, pattern: str = "*") -> List[str]:
        """Files by their path below the folder, in order."""
        if self._files is not None:
            return sorted(name for name in self._files if pathlib.PurePath(name).match(pattern))
        return sorted(path.relative_to(self.place).as_posix() for path in self.place.rglob(pattern) if path.is_file())

    def read(self, name: str) -> bytes:
        if self._files is not None:
            if name not in self._files:
                raise FileNotFoundError(f"{self.place} has no file {name!r}")
            return self._files[name]
        return (self.place / name).read_bytes()

    def table(self, name: str) -> List[Row]:
        """The rows of one CSV file."""
        text = io.StringIO(self.read(name).decode("utf-8"), newline="")
        return [{column: value(column, field or "") for column, field in row.items()} for row in csv.DictReader(text)]

    def profiles(self) -> List[Row]:
        """One loop alone: all profiles*.csv, with every column that any of them has. `file` is where a row is from, `graph` the path of its graph."""
        rows: List[Row] = []
        graphs = set(self.names("*.onnx"))
        for name in self.names("profiles*.csv"):
            if "/" not in name:
                rows += [{"file": name, **row} for row in self.table(name)]
        columns = dict.fromkeys(column for row in rows for column in row)
        for row in rows:
            for column in columns:
                row.setdefault(column, None)
            path = f"onnx/{row['onnx']}" if row.get("onnx") else None
            row["graph"] = path if path in graphs else None
        return rows

    def graph(self, row: Row) -> Optional[bytes]:
        return self.read(row["graph"]) if row.get("graph") else None
