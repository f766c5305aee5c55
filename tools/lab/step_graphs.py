#!/usr/bin/env python3
"""Makes of the graph of one pass the graph of what a training step runs, for GANs and Q-learning.

    python3 tools/lab/step_graphs.py data/h200/onnx --out data/h200/onnx

export.py writes such graphs itself (`whole` of a task in zoo/); this does the same to files that were exported before it did, without PyTorch, operator by
operator: a GAN's discriminator runs three times a step (on real images, on made ones that are cut off from the generator, which cost the same and
are written as real ones, and on made ones), and Q-learning has a target network beside its own, whose weights are frozen
(docs/formats/model-graphs.md). Files that are such graphs already are left alone. Standard library only.
"""
import argparse
import os

GAN, TWINS = 'gan_', ('impala_', 'dqn_')
NODE, INITIALIZER, INPUT, OUTPUT, VALUE_INFO = 1, 5, 11, 12, 13      # fields of GraphProto
GRAPH, METADATA = 7, 14                                              # of ModelProto


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at, value, shift = at + 1, value | (byte & 127) << shift, shift + 7
        if byte < 128:
            return value, at


def fields(data):
    """(number, wire type, value) of each field of a message."""
    at, found = 0, []
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        else:
            size, at = varint(data, at) if kind == 2 else ({1: 8, 5: 4}[kind], at)
            value, at = data[at:at + size], at + size
        found.append((key >> 3, kind, value))
    return found


def number(value):
    out = b''
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def message(parts):
    out = b''
    for field, kind, value in parts:
        out += number(field << 3 | kind) + (number(value) if kind == 0 else number(len(value)) + value if kind == 2 else value)
    return out


def text(data, field):
    return next(value for f, _, value in fields(data) if f == field)


def all_of(data, field):
    return [value for f, _, value in fields(data) if f == field]


def renamed(data, names, which):
    """The message with the names in these fields changed."""
    return message([(f, kind, names(value) if f in which else value) for f, kind, value in fields(data)])


def again(node, names, mark):
    return message([(f, kind, names(v) if f in (1, 2) else v + mark if f == 3 else v) for f, kind, v in fields(node)])


def input_of(name, dims):
    shape = message([(1, 2, message([(2, 2, b'batch')]))] + [(1, 2, message([(1, 0, d)])) for d in dims])
    return message([(1, 2, name), (2, 2, message([(1, 2, message([(1, 0, 1), (2, 2, shape)]))]))])


def duel(graph, size):
    """A GAN's: everything after the generator's tanh is the discriminator."""
    nodes = [v for f, _, v in graph if f == NODE]
    judge = nodes[next(i for i, n in enumerate(nodes) if all_of(n, 2) == [b'tanh']) + 1:]
    made = {name for n in judge for name in all_of(n, 2)}
    verdict = next(v for f, _, v in graph if f == OUTPUT)
    nodes, outputs = [message([(1, 2, b'real'), (2, 2, b'turned'), (3, 2, b'turn'), (4, 2, b'Neg')]), *nodes], [verdict]
    for times, image in ((1, b'real'), (2, b'turned')):
        def names(name):
            if name == b'tanh':
                return image
            if name not in made:
                return name
            if name.startswith(b'getitem'):                # so the reader knows a convolution that swallowed a norm
                return b'getitem_%d%s' % (1000 * times, name.partition(b'_')[2] or b'0')
            return b'%s_again_%d' % (name, times)
        nodes += [again(n, names, b'_again_%d' % times) for n in judge]
        outputs.append(renamed(verdict, names, (1,)))
    kept = [part for part in graph if part[0] not in (NODE, OUTPUT, VALUE_INFO)]
    return [(NODE, 2, n) for n in nodes] + kept + [(INPUT, 2, input_of(b'real', [3, size, size]))] + [(OUTPUT, 2, o) for o in outputs], None


def pair(graph):
    """Q-learning's: the network, and a second one with weights of its own that are frozen, on states of its own."""
    nodes, weights = [v for f, _, v in graph if f == NODE], [v for f, _, v in graph if f == INITIALIZER]
    own = {text(w, 8) for w in weights if b'.' in text(w, 8)}        # parameters are named after their modules, constants are not
    mine = own | {name for n in nodes for name in all_of(n, 2)} | {text(v, 1) for f, _, v in graph if f == INPUT}
    names = lambda name: b'target.' + name if name in mine else name
    more = [(NODE, 2, again(n, names, b'_target')) for n in nodes]
    more += [(INITIALIZER, 2, renamed(w, names, (8,))) for w in weights if text(w, 8) in own]
    more += [(f, 2, renamed(v, names, (1,))) for f, _, v in graph if f in (INPUT, OUTPUT)]
    return [part for part in graph if part[0] != VALUE_INFO] + more, b' '.join(sorted(map(names, own)))


def whole(data, file):
    model = fields(data)
    graph = fields(next(v for f, _, v in model if f == GRAPH))
    if len([1 for f, _, _ in graph if f == INPUT]) > 1:
        return None
    made, frozen = duel(graph, int(file[:-len('.onnx')].split('_')[2])) if file.startswith(GAN) else pair(graph)
    out = [(f, kind, message(made) if f == GRAPH else v) for f, kind, v in model]
    if frozen:
        out.append((METADATA, 2, message([(1, 2, b'sharewell.frozen'), (2, 2, frozen)])))
    return message(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('folder')
    parser.add_argument('--out', required=True, metavar='FOLDER')
    args = parser.parse_args()
    for file in sorted(os.listdir(args.folder)):
        if not file.startswith((GAN, *TWINS)) or not file.endswith('.onnx'):
            continue
        with open(os.path.join(args.folder, file), 'rb') as source:
            made = whole(source.read(), file)
        if made:
            with open(os.path.join(args.out, file), 'wb') as target:
                target.write(made)
        print(file, 'written' if made else 'is of a whole step already')


if __name__ == '__main__':
    main()
