"""Model files that are short and unfold, and a trace that takes long to play: what a hostile user sends.

The seeded generator of many more is src/graph/onnx/unfolding.h; these are the few that the tests with real users need.
"""

import functools


def varint(number):
    out = b""
    while number > 0x7f:
        out += bytes([number & 0x7f | 0x80])
        number >>= 7
    return out + bytes([number])


def field(number, content):
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    if isinstance(content, str):
        content = content.encode()
    return varint(number << 3 | 2) + varint(len(content)) + content


def node(kind, inputs, outputs, domain=""):
    named = b"".join(field(1, one) for one in inputs) + b"".join(field(2, one) for one in outputs)
    return named + field(4, kind) + (field(7, domain) if domain else b"")


def value(name, dims=()):
    shape = b"".join(field(1, field(1, dim)) for dim in dims)
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))


def model(nodes, functions=(), initializers=()):
    graph = b"".join(field(1, one) for one in nodes) + b"".join(field(5, one) for one in initializers)
    graph += field(11, value("x", (1, 8))) + field(12, value("y"))
    return field(1, 8) + field(7, graph) + field(8, field(2, 18)) + b"".join(field(25, one) for one in functions)


@functools.cache
def operands():
    """A2: a function whose node has 100,000 empty inputs, called 40,000 times: a megabyte that took gigabytes."""
    wide = field(1, "f") + field(4, "a") + field(5, "b") + field(7, node("Relu", ["a"], ["b"]))
    wide += field(7, node("Other", [""] * 100_000, ["t"])) + field(10, "own")
    names = ["x"] + [f"v{i}" for i in range(39_999)] + ["y"]
    return model([node("f", [a], [b], "own") for a, b in zip(names, names[1:])], [wide])


@functools.cache
def numbers():
    """A list of 4,096 numbers that 100,000 nodes pass on: 3.3 GB of numbers in a file of 2 MB."""
    many = field(1, 1) + field(2, 7) + field(8, "many") + field(9, (4096).to_bytes(8, "little"))
    nodes = [node("ConstantOfShape", ["many"], ["n"])] + [node("Identity", ["n"], [f"m{i}"]) for i in range(100_000)]
    return model(nodes + [node("Relu", ["x"], ["y"])], initializers=[many])


@functools.cache
def calls_itself():
    """A function of 100,000 nodes that calls itself first: each of 32 calls had a copy of all of them."""
    nodes = [node("f", ["a"], ["b"], "own")] + [node("R", ["b"], [f"v{i}"]) for i in range(100_000)]
    itself = field(1, "f") + field(4, "a") + field(5, "b") + b"".join(field(7, one) for one in nodes) + field(10, "own")
    return model([node("f", ["x"], ["y"], "own")], [itself])


def plain(nodes=3):
    names = ["x"] + [f"v{i}" for i in range(nodes - 1)] + ["y"]
    return model([node("Relu", [a], [b]) for a, b in zip(names, names[1:])])


@functools.cache
def trace(jobs=19_000):
    """All at once, so that the queue is long: playing it takes minutes."""
    return "id,submit_seconds,duration_seconds,gpus\n" + "".join(f"j{i},{i // 100},{1000 + i * 37 % 5000},{1 + i % 3}\n" for i in range(jobs))
