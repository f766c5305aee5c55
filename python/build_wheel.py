"""Builds the wheel for pip (PEP 517) with the standard library alone: four modules and what says that they are there."""
import base64
import hashlib
import pathlib
import re
import zipfile

HERE = pathlib.Path(__file__).resolve().parent


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    fields = dict(re.findall(r'^(name|version|description|requires-python) = "(.*)"', (HERE / "pyproject.toml").read_text(encoding="utf-8"), re.M))
    stem = f"{fields['name']}-{fields['version']}"
    files = {f"sharewell/{path.name}": path.read_bytes() for path in sorted((HERE / "sharewell").iterdir()) if path.suffix in (".py", ".typed")}
    files[f"{stem}.dist-info/METADATA"] = (
        f"Metadata-Version: 2.1\nName: {fields['name']}\nVersion: {fields['version']}\nSummary: {fields['description']}\n"
        f"Requires-Python: {fields['requires-python']}\nLicense: Apache-2.0\n").encode()
    files[f"{stem}.dist-info/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: sharewell\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    record = "".join(f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}\n"
                     for name, data in files.items())
    files[f"{stem}.dist-info/RECORD"] = (record + f"{stem}.dist-info/RECORD,,\n").encode()
    name = f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data in files.items():
            wheel.writestr(zipfile.ZipInfo(path, (2026, 1, 1, 0, 0, 0)), data)
    return name
