"""Reads what a watched command writes into the watch pipe, and checks a told step field by field (docs/formats/watch-pipe.md)."""
import collections
import json
import numbers
import os
import threading

DTYPES = {'f64', 'f32', 'f16', 'bf16', 'tf32', 'i64', 'i32', 'i16', 'i8', 'u8', 'b1', 'c64', 'c128', 'f8', 'other'}
FIELDS = ['sharewell_step', 'framework', 'python', 'device', 'batch', 'accumulation', 'optimizer', 'optimizers', 'optimizer_style',
          'precision', 'autocast', 'grad_scaler', 'workers', 'compiled', 'channels_last', 'checkpointing', 'cuda_graphs', 'world_size',
          'parallel', 'parameters', 'trainable', 'modules', 'memory', 'measured_peak', 'operators', 'dropped']
LONGEST_LINE, LARGEST = 4096, 256 * 1024

Heard = collections.namedtuple('Heard', 'steps lines documents off by')


def heard(data):
    """What the bytes of a pipe say. Fails where they are not lines of the protocol."""
    steps, parts, documents, off, by = 0, {}, [], [], []
    if data and not data.endswith(b'\n'):
        raise AssertionError('the last line is cut: {!r}'.format(data[-80:]))
    lines = data.decode('ascii').splitlines()
    for line in lines:
        if len(line) + 1 > LONGEST_LINE:
            raise AssertionError('a line of {} bytes'.format(len(line) + 1))
        if line.startswith('+'):
            if int(line[1:]) < 1:
                raise AssertionError('counts nothing: ' + line)
            steps += int(line[1:])
        elif line.startswith('doc '):
            _, name, number, last, text = line.split(' ', 4)
            mine = parts.setdefault(name, [])
            if int(number) != len(mine):
                raise AssertionError('piece {} of {} after {}'.format(number, name, len(mine)))
            mine.append(text)
            if last == '1':
                text = ''.join(mine)
                if len(text) > LARGEST:
                    raise AssertionError('a document of {} bytes'.format(len(text)))
                documents.append(json.loads(text))
        elif line.startswith('off '):
            off.append(line[4:])
        elif line.startswith('by '):
            by.append(line[3:])
        else:
            raise AssertionError('no line of the protocol: ' + line[:80])
    return Heard(steps, len(lines), documents, off, by)


class Reader:
    """A named pipe with somebody who reads it all the time."""

    def __init__(self, path):
        os.mkfifo(path)
        self.file = os.open(path, os.O_RDWR)
        self.data = []
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        while True:
            piece = os.read(self.file, 65536)
            self.data.append(piece)
            if b'\0' in piece:  # from end(); a child that lives on may write behind it
                return

    def end(self):
        os.write(self.file, b'\0')
        self.thread.join()
        os.close(self.file)
        return b''.join(self.data).partition(b'\0')[0]


def check(told):
    """Fails where a told step is not as its format says."""
    def must(condition, *what):
        if not condition:
            raise AssertionError(' '.join(map(str, what)))

    def whole(value, least=0):
        return isinstance(value, int) and not isinstance(value, bool) and value >= least

    def one_of(name, *values):
        must(told[name] in values, name, told[name])

    def tensor(x):
        must(isinstance(x, list) and len(x) == 2, x)
        dtype = x[0].split(':', 1)
        must(dtype[-1] in DTYPES and (len(dtype) == 1 or dtype[0] in 'wp'), x[0])
        must(isinstance(x[1], list) and len(x[1]) <= 16 and all(whole(n) and n <= 2 ** 40 for n in x[1]), x)

    def operand(x):
        if isinstance(x, dict):
            must(list(x) == ['list'], x)
            for kind in x['list']:
                must(len(kind) == 3 and whole(kind[2], 1), kind)
                tensor(kind[:2])
        elif x is not None:
            tensor(x)

    must(list(told) == FIELDS, list(told))
    must(told['sharewell_step'] == 1)
    must(told['framework'].startswith('pytorch ') and told['python'].count('.') == 2)
    one_of('device', 'cuda', 'cpu', 'meta')
    for name in ('batch', 'accumulation'):
        must(told[name] is None or whole(told[name], 1), name, told[name])
    must(told['workers'] is None or whole(told['workers']))
    for name in ('optimizers', 'world_size', 'parameters', 'trainable'):
        must(whole(told[name], 1), name, told[name])
    must(told['trainable'] <= told['parameters'])
    one_of('optimizer_style', 'foreach', 'fused', 'for-loop', None)
    one_of('precision', 'fp32', 'bf16', 'fp16', 'tf32', 'fp64')
    one_of('autocast', 'bf16', 'fp16', None)
    one_of('parallel', None, 'ddp', 'fsdp', 'dp')
    for name in ('grad_scaler', 'compiled', 'channels_last', 'checkpointing', 'cuda_graphs'):
        one_of(name, True, False)
    must(isinstance(told['optimizer'], str) and (told['modules'] is None or isinstance(told['modules'], str)))
    must(list(told['memory']) == ['parameters', 'gradients', 'optimizer', 'peak', 'saved'])
    must(all(value is None or whole(value) for value in told['memory'].values()), told['memory'])
    must(told['measured_peak'] is None or whole(told['measured_peak']))
    must(whole(told['dropped']) and len(told['operators']) <= 4000)
    keys = {'op', 'pass', 'count', 'in', 'out', 'arg', 'view', 'cl'}
    for operator in told['operators']:
        must(set(operator) <= keys and keys - {'arg', 'view', 'cl'} <= set(operator), operator)
        must(operator['pass'] in ('forward', 'backward', 'update') and whole(operator['count'], 1), operator)
        must(operator['op'].count('.') >= 2, operator['op'])
        must(operator.get('view', True) is True and operator.get('cl', True) is True)
        for x in operator['in'] + operator['out']:
            operand(x)
        must(None not in operator['out'], operator)
        for name, value in operator.get('arg', {}).items():
            values = value if isinstance(value, list) else [value]
            must(isinstance(name, str) and len(values) <= 8 and all(isinstance(v, (bool, numbers.Real)) for v in values), name, value)
    distinct = {json.dumps({k: v for k, v in operator.items() if k != 'count'}) for operator in told['operators']}
    must(len(distinct) == len(told['operators']), 'an operator is listed twice')


def count(told, name, run=None):
    """How often an operator was called in a pass."""
    return sum(o['count'] for o in told['operators'] if o['op'].split('.')[1] == name and run in (None, o['pass']))
