"""Container images for a cluster of whole_cluster.py, as archives that `ctr images import` takes: no registry is asked and no podman needed."""

import hashlib
import io
import json
import os
import pathlib
import platform
import subprocess
import tarfile

ACCOUNTS = {"etc/passwd": b"root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n", "etc/group": b"root:x:0:\n"}


def libraries(program):
    """What the loader of this machine brings for it, itself too: {path in the image: path here}."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return {word.lstrip("/"): os.path.realpath(word) for word in listed.split() if word.startswith("/")}


def write_image(archive, name, files, *, links=(), config=None):
    """`files`: {path in the image: path here, or bytes}; all may be run. There is a /tmp."""
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as tar:
        folders = {str(parent) for path in [*files, *(path for path, _ in links)] for parent in pathlib.PurePosixPath(path).parents} - {"."}
        for folder in sorted(folders | {"tmp"}):
            tar.addfile(entry(folder, tarfile.DIRTYPE, 0o1777 if folder == "tmp" else 0o755))
        for path, source in files.items():
            data = source if isinstance(source, bytes) else pathlib.Path(source).read_bytes()
            tar.addfile(entry(path, size=len(data)), io.BytesIO(data))
        for path, target in links:
            tar.addfile(entry(path, tarfile.SYMTYPE, linkname=target))
    data = layer.getvalue()
    settings = json.dumps({"architecture": {"aarch64": "arm64", "x86_64": "amd64"}[platform.machine()], "os": "linux", "config": config or {},
                           "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(data).hexdigest()]}}).encode()
    settings_name = hashlib.sha256(settings).hexdigest() + ".json"
    listed = json.dumps([{"Config": settings_name, "RepoTags": [name], "Layers": ["layer.tar"]}]).encode()
    with tarfile.open(archive, "w") as tar:
        for path, body in ((settings_name, settings), ("layer.tar", data), ("manifest.json", listed)):
            tar.addfile(entry(path, size=len(body)), io.BytesIO(body))


def entry(path, kind=tarfile.REGTYPE, mode=0o755, **more):
    info = tarfile.TarInfo(path)
    info.type, info.mode = kind, mode
    for key, value in more.items():
        setattr(info, key, value)
    return info


def write_images(folder, programs, image, sharewell, files):
    """The pause of Kubernetes' `programs`, busybox, and as `image` ("sharewell:7") the program `sharewell` with these files besides."""
    folder.mkdir()
    write_image(folder / "pause.tar", "registry.k8s.io/pause:3.6", {"pause": f"{programs}/pause"}, config={"Entrypoint": ["/pause"], "User": "65535:65535"})
    applets = subprocess.run(["/bin/busybox", "--list"], capture_output=True, text=True, check=True).stdout.split()
    write_image(folder / "busybox.tar", "docker.io/library/busybox:1", {"bin/busybox": "/bin/busybox", **ACCOUNTS},
                links=[(f"bin/{applet}", "busybox") for applet in applets if applet != "busybox"],
                config={"Cmd": ["sh"], "Env": ["PATH=/bin"]})
    found = {"opt/sharewell/bin/sharewell": sharewell}
    for path in [sharewell, *(path for path in files.values() if str(path).endswith(".so"))]:
        found |= libraries(path)
    write_image(folder / "sharewell.tar", f"docker.io/library/{image}", {**found, **files, **ACCOUNTS},
                config={"Entrypoint": ["sharewell"], "User": "65532:65532", "Env": ["PATH=/opt/sharewell/bin:/usr/bin:/bin"]})
