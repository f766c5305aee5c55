#!/usr/bin/env python3
"""ResNet-50, a transformer encoder and a perceptron in JAX: the same models as in PyTorch, for the framework matters (Dube and Sura).

  python3 zoo/jax_zoo.py --model resnet50 --batch 64 --precision bf16 --workers 4

jax.numpy and jax.lax alone. Against the PyTorch ones: no dropout, and batch normalisation keeps no running means.
"""
import argparse
import importlib.util
import math
import multiprocessing
import os
import queue
import signal
import sys

import progress

AHEAD = 4                                      # batches that wait, a worker
CLASSES, VOCAB, TOKENS, WIDTH, SIZE = 1000, 10000, 200, 784, 224


for package in ('numpy', 'jax'):
    if importlib.util.find_spec(package) is None:
        progress.absent(f'{package} is not installed: pip install "jax[cuda13]" (or jax, for the CPU); zoo/plain.py runs without it')

import numpy as np  # noqa: E402

# ------------------------------------------------------------------------------------------------------------ what is fed


class Images:
    """uint8 images cropped, flipped and normalised on the CPU, so that loader processes matter; channels last."""
    shape, kind, classes = (SIZE, SIZE, 3), np.float32, CLASSES

    def __init__(self):
        side = SIZE + SIZE // 8
        self.base = np.random.default_rng(0).integers(0, 256, (64, side, side, 3), dtype=np.uint8)

    def fill(self, rng, out):
        for i in range(len(out)):
            o = int(rng.integers(0, self.base.shape[1] - SIZE + 1))
            x = self.base[int(rng.integers(64)), o:o + SIZE, o:o + SIZE].astype(np.float32) / 255
            out[i] = ((x[:, ::-1] if i & 1 else x) - 0.45) / 0.22


class Tokens:
    shape, kind, classes = (TOKENS,), np.int32, 2

    def fill(self, rng, out):
        out[:] = rng.integers(0, VOCAB, out.shape)


class Vectors:
    shape, kind, classes = (WIDTH,), np.float32, 10

    def fill(self, rng, out):
        x = rng.standard_normal(out.shape, dtype=np.float32)
        out[:] = (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True)


class Loader:
    """Processes that fill slots of shared memory. They are forked before JAX starts its threads."""

    def __init__(self, data, batch, workers):
        self.data, self.batch, self.processes = data, batch, []
        self.rng = np.random.default_rng(1)
        context = multiprocessing.get_context('fork')
        slots = max(1, workers * AHEAD)
        size = batch * int(np.prod(data.shape)) * np.dtype(data.kind).itemsize
        self.slots = [context.RawArray('b', size) for _ in range(slots if workers else 1)]
        self.free, self.full = context.Queue(), context.Queue()
        for i in range(workers):
            process = context.Process(target=self._work, args=(i, os.getpid()), daemon=True)
            process.start()
            self.processes.append(process)
        for i in range(slots):                 # after the forks: a queue in use has a thread
            self.free.put(i)

    def _array(self, slot):
        return np.frombuffer(self.slots[slot], dtype=self.data.kind).reshape((self.batch, *self.data.shape))

    def _work(self, seed, parent):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        rng = np.random.default_rng(seed + 2)
        while os.getppid() == parent:
            try:
                slot = self.free.get(timeout=1)
            except queue.Empty:
                continue
            self.data.fill(rng, self._array(slot))
            self.full.put(slot)
        os._exit(1)

    def next(self, told):
        """A batch of its own and its classes; None when the loop was told to stop."""
        y = (np.arange(self.batch) % self.data.classes).astype(np.int32)
        if not self.processes:
            x = self._array(0)
            self.data.fill(self.rng, x)
            return x.copy(), y
        while not told.stopped:
            try:
                slot = self.full.get(timeout=0.2)
            except queue.Empty:
                if not all(process.is_alive() for process in self.processes):
                    print('zoo: a loader process has ended', file=sys.stderr)
                    os._exit(1)
                continue
            x = self._array(slot).copy()       # the device may still read it when the slot is filled again
            self.free.put(slot)
            return x, y
        return None


# ----------------------------------------------------------------------------------------------------------------- models
# A model is (parameters, function of them and a batch): plain dictionaries and lists of arrays.

def dense(rng, inputs, outputs):
    return {'w': (rng.standard_normal((inputs, outputs)) / math.sqrt(inputs)).astype(np.float32), 'b': np.zeros(outputs, np.float32)}


def make_mlp(rng, hid=1024, layers=4):
    widths = [WIDTH] + [hid] * layers
    params = {'layers': [dense(rng, a, b) for a, b in zip(widths, widths[1:])], 'out': dense(rng, hid, Vectors.classes)}

    def forward(jax, p, x):
        for layer in p['layers']:
            x = jax.nn.relu(x @ layer['w'] + layer['b'])
        return x @ p['out']['w'] + p['out']['b']
    return params, forward


def make_transformer(rng, d=512, layers=6, heads=8):
    def norm():
        return {'g': np.ones(d, np.float32), 'b': np.zeros(d, np.float32)}

    def layer():
        return {'qkv': dense(rng, d, 3 * d), 'o': dense(rng, d, d), 'n1': norm(), 'f1': dense(rng, d, 4 * d), 'f2': dense(rng, 4 * d, d),
                'n2': norm()}
    params = {'e': rng.standard_normal((VOCAB, d)).astype(np.float32), 'layers': [layer() for _ in range(layers)], 'out': dense(rng, d, 2)}

    def forward(jax, p, x):
        jnp = jax.numpy

        def linear(x, w):
            return x @ w['w'] + w['b']

        def normed(x, n):
            y = x.astype(jnp.float32)
            y = (y - y.mean(-1, keepdims=True)) * jax.lax.rsqrt(y.var(-1, keepdims=True) + 1e-5)
            return (y * n['g'] + n['b']).astype(x.dtype)
        x = p['e'][x]
        b, t, _ = x.shape
        for layer in p['layers']:
            q, k, v = jnp.split(linear(x, layer['qkv']).reshape(b, t, heads, 3 * d // heads), 3, axis=-1)
            a = jnp.einsum('bqhd,bkhd->bhqk', q, k).astype(jnp.float32) / math.sqrt(d // heads)
            a = jax.nn.softmax(a, axis=-1).astype(x.dtype)
            x = normed(x + linear(jnp.einsum('bhqk,bkhd->bqhd', a, v).reshape(b, t, d), layer['o']), layer['n1'])
            x = normed(x + linear(jax.nn.relu(linear(x, layer['f1'])), layer['f2']), layer['n2'])
        return linear(x.mean(1), p['out'])
    return params, forward


def make_resnet50(rng):
    def conv(size, inputs, outputs):
        scale = math.sqrt(2 / (size * size * outputs))
        return {'w': (rng.standard_normal((size, size, inputs, outputs)) * scale).astype(np.float32),
                'g': np.ones(outputs, np.float32), 'b': np.zeros(outputs, np.float32)}
    blocks, strides, before = [], [], 64
    for width, count, first in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(count):
            block = {'c1': conv(1, before, width), 'c2': conv(3, width, width), 'c3': conv(1, width, 4 * width)}
            if i == 0:
                block['down'] = conv(1, before, 4 * width)
            blocks.append(block)
            strides.append(first if i == 0 else 1)
            before = 4 * width
    params = {'stem': conv(7, 3, 64), 'blocks': blocks, 'out': dense(rng, 2048, CLASSES)}

    def forward(jax, p, x):
        jnp, lax = jax.numpy, jax.lax

        def layer(x, c, stride=1):
            """A convolution and batch normalisation with the batch's own mean and variance."""
            x = lax.conv_general_dilated(x, c['w'], (stride, stride), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'))
            y = x.astype(jnp.float32)
            mean = y.mean((0, 1, 2))
            y = (y - mean) * lax.rsqrt(jnp.square(y - mean).mean((0, 1, 2)) + 1e-5)
            return (y * c['g'] + c['b']).astype(x.dtype)
        x = jax.nn.relu(layer(x, p['stem'], 2))
        x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), 'SAME')
        for block, stride in zip(p['blocks'], strides):
            y = jax.nn.relu(layer(x, block['c1']))
            y = jax.nn.relu(layer(y, block['c2'], stride))
            y = layer(y, block['c3'])
            x = jax.nn.relu(y + (layer(x, block['down'], stride) if 'down' in block else x))
        return x.mean((1, 2)) @ p['out']['w'] + p['out']['b']
    return params, forward


MODELS = {                                     # workload, batch, what it is fed, how it is made
    'resnet50': ('jax-resnet50@224', 64, Images, make_resnet50),
    'transformer': ('jax-enc:512x6', 32, Tokens, make_transformer),
    'mlp': ('jax-mlp:1024x4', 1024, Vectors, make_mlp),
}


# ------------------------------------------------------------------------------------------------------------------- loop

def make_step(jax, forward, precision, optimizer):
    """One training step, compiled: (parameters, optimizer's state, step number, x, y) to (parameters, state, loss)."""
    jnp, tree = jax.numpy, jax.tree_util
    half = jnp.bfloat16

    def cast(value):
        return value.astype(half) if value.dtype == jnp.float32 else value

    def loss_of(params, x, y):
        if precision == 'bf16':
            params, x = tree.tree_map(cast, params), cast(x)
        logits = forward(jax, params, x).astype(jnp.float32)
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], axis=1).mean()

    def step(params, state, n, x, y):
        loss, grads = jax.value_and_grad(loss_of)(params, x, y)
        if optimizer == 'sgd':
            state = {'m': tree.tree_map(lambda m, g: 0.9 * m + g, state['m'], grads)}
            params = tree.tree_map(lambda p, m: p - 0.01 * m, params, state['m'])
        else:
            state = {'m': tree.tree_map(lambda m, g: 0.9 * m + 0.1 * g, state['m'], grads),
                     'v': tree.tree_map(lambda v, g: 0.999 * v + 0.001 * g * g, state['v'], grads)}
            a, b = 1 - 0.9 ** n, 1 - 0.999 ** n
            params = tree.tree_map(lambda p, m, v: p - 1e-4 * ((m / a) / (jnp.sqrt(v / b) + 1e-8) + 0.01 * p), params, state['m'], state['v'])
        return params, state, loss
    return jax.jit(step, donate_argnums=(0, 1))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--model', required=True, choices=tuple(MODELS))
    progress.add_loop_flags(parser, batch=None)
    parser.add_argument('--precision', choices=('fp32', 'tf32', 'bf16'), default='fp32', help='default %(default)s')
    parser.add_argument('--optimizer', choices=('sgd', 'adamw'), default='sgd', help='default %(default)s')
    parser.add_argument('--device', choices=('auto', 'cuda', 'cpu'), default='auto', help='auto: a GPU if there is one')
    args = parser.parse_args()
    name, batch, data, make = MODELS[args.model]
    batch = args.batch or batch
    loader = Loader(data(), batch, args.workers)
    if args.device == 'cpu':
        os.environ['JAX_PLATFORMS'] = 'cpu'
    if args.threads:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:args.threads])    # XLA has no flag for it that lasts
    # Memory as it is needed, not most of the GPU: what is measured is the job's.
    os.environ.setdefault('XLA_PYTHON_CLIENT_PREALLOCATE', 'false')
    import jax
    try:
        device = jax.devices('gpu' if args.device == 'cuda' else None)[0]
    except RuntimeError as e:
        for process in loader.processes:
            process.kill()
        progress.absent(f'JAX finds no GPU ({str(e).splitlines()[0][:100]}); give --device cpu, or pip install "jax[cuda13]"')
    if args.precision != 'bf16':
        jax.config.update('jax_default_matmul_precision', 'tensorfloat32' if args.precision == 'tf32' else 'float32')
    told = progress.Progress(args.steps, args.seconds, warmup=8, workload=name, batch=batch, precision=args.precision,
                             workers=args.workers, optimizer=args.optimizer, device=device.platform, framework=f'jax {jax.__version__}')
    params, forward = make(np.random.default_rng(0))
    told.facts['params'] = sum(int(p.size) for p in jax.tree_util.tree_leaves(params))
    params = jax.device_put(params, device)
    zeros = jax.tree_util.tree_map(jax.numpy.zeros_like, params)
    state = {'m': zeros}
    if args.optimizer == 'adamw':
        state['v'] = jax.tree_util.tree_map(jax.numpy.zeros_like, params)
    step = make_step(jax, forward, args.precision, args.optimizer)
    done = 0
    while not told.stopped:
        fed = loader.next(told)
        if fed is None:
            break
        x, y = jax.device_put(fed, device)
        done += 1
        params, state, loss = step(params, state, float(done), x, y)
        if done % 2 == 0:
            float(loss)                        # like most loops, look at the loss now and then
        told.step()
    jax.block_until_ready(params)
    told.finish()
    for process in loader.processes:
        process.kill()
        process.join()
    sys.stdout.flush()
    os._exit(0)


if __name__ == '__main__':
    sys.exit(main())
