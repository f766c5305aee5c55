"""Makes the tensors of a cell of the operator table, and what runs it (operators.py)."""
import math

MOST_BYTES = 40e9                # of a cell's operands; beyond, it is not run
# Which method of Maker makes a class of operators.
KINDS = {**dict.fromkeys(('stem', 'pointwise', 'conv', 'depthwise', 'grouped'), 'conv'),
         **{name: name for name in ('matmul', 'attention', 'recurrent', 'norm', 'activation', 'elementwise', 'reduction', 'softmax', 'pool',
                                    'embedding', 'move', 'update')}}


class Operand:
    """'64x256x14x14:2g': dimensions, bytes an element, then g: wants a gradient, w: weight, c: constant, i: whole numbers."""

    def __init__(self, text):
        dims, _, rest = text.partition(':')
        self.dims = [] if dims == '1' else [int(d) for d in dims.split('x')]
        self.scalar = dims == '1'
        self.width = int(''.join(c for c in rest if c.isdigit()) or 4)
        self.grad, self.weight, self.constant, self.whole = ('g' in rest, 'w' in rest, 'c' in rest, 'i' in rest)

    def bytes(self):
        return math.prod(self.dims) * self.width


def operands_of(text):
    return [None if part in ('-', '') or part.startswith('?') else Operand(part) for part in text.split(' ')] if text else []


def sizes_of(text):
    return [int(d) for d in text.split('x')] if text else []


def window_of(n, m, k, d):
    """Stride and padding that take n places to m with a window of k, d apart: the least padding that does."""
    reach = d * (k - 1) + 1
    guess = max(1, round(n / max(m, 1)))
    for stride in dict.fromkeys((guess, guess + 1, max(1, guess - 1), max(1, n // max(m, 1)))):
        for pad in range(0, reach + 1):
            if n + 2 * pad >= reach and (n + 2 * pad - reach) // stride + 1 == m:
                return stride, pad
    return guess, d * (k - 1) // 2


def roots(window, space):
    """The sides of a window of so many elements."""
    side = round(window ** (1 / max(space, 1)))
    return [side] * space if side ** space == window else [window] + [1] * (space - 1)


class Maker:
    """Makes a cell's tensors and what runs it."""

    def __init__(self, torch):
        self.torch, self.F = torch, torch.nn.functional

    def tensor(self, operand):
        torch = self.torch
        if operand.whole:
            return torch.zeros(operand.dims, dtype=torch.long, device='cuda')
        made = torch.randn(operand.dims, dtype=torch.bfloat16 if operand.width == 2 else torch.float32, device='cuda')
        return made.requires_grad_(operand.grad)

    def __call__(self, cell):
        """(run, inputs that want gradients, what was just written): run() gives the output."""
        kind = cell['class']
        if kind not in KINDS:
            raise ValueError(f'there is no class of operators "{kind}"')
        if kind == 'update':
            return self.update(cell)
        operands = operands_of(cell['operands'])
        if not operands or operands[0] is None:
            raise ValueError('its first operand is not known')
        if sum(o.bytes() for o in operands if o) > MOST_BYTES:
            raise ValueError('its operands are larger than it may take')
        out = sizes_of(cell['output'])
        run, inputs, hot = getattr(self, KINDS[kind])(cell, operands, out)
        return run, [t for t in inputs if t is not None and t.requires_grad], hot

    def conv(self, cell, operands, out):
        F, x, w = self.F, self.tensor(operands[0]), self.tensor(operands[1])
        bias = self.tensor(operands[2]) if len(operands) > 2 and operands[2] else None
        space, groups, dilation = len(operands[0].dims) - 2, int(cell['groups']), int(cell['dilation'])
        if not 1 <= space <= 3:
            raise ValueError(f'a convolution over {space} dimensions')
        kernel = operands[1].dims[2:]
        if 'ranspose' in cell['type']:
            steps, pads, extras = [], [], []
            for n, m, k in zip(operands[0].dims[2:], out[2:], kernel):
                stride = max(1, round(m / n))
                over = (n - 1) * stride + dilation * (k - 1) + 1 - m
                pad = max(0, -(-over // 2))
                steps.append(stride), pads.append(pad), extras.append(max(0, 2 * pad - over))
            call = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[space - 1]
            return lambda: call(x, w, bias, steps, pads, extras, groups, dilation), (x, w, bias), x
        found = [window_of(n, m, k, dilation) for n, m, k in zip(operands[0].dims[2:], out[2:], kernel)]
        steps, pads = [s for s, _ in found], [p for _, p in found]
        call = (F.conv1d, F.conv2d, F.conv3d)[space - 1]
        return lambda: call(x, w, bias, steps, pads, dilation, groups), (x, w, bias), x

    def matmul(self, cell, operands, out):
        torch, F = self.torch, self.F
        x, other = self.tensor(operands[0]), operands[1]
        if other.weight and len(other.dims) == 2:
            inner = operands[0].dims[-1]
            outer = other.dims[1] if other.dims[0] == inner else other.dims[0]
            w = torch.randn((outer, inner), dtype=torch.float32, device='cuda').requires_grad_(other.grad)
            bias = None
            if len(operands) > 2 and operands[2] and not operands[2].scalar:
                bias = torch.zeros(outer, device='cuda').requires_grad_(operands[2].grad)
            return lambda: F.linear(x, w, bias), (x, w, bias), x
        y = self.tensor(other)
        return lambda: torch.matmul(x, y), (x, y), x

    def attention(self, cell, operands, out):
        F = self.F
        q, k, v = (self.tensor(o) for o in operands[:3])
        turned = k.shape[-1] != q.shape[-1] or (k.shape[-2] != v.shape[-2] and k.shape[-1] == v.shape[-2])
        ahead = list(q.shape[:-2])
        if len(ahead) < 1 or any(list(t.shape[:-2]) != ahead for t in (k, v)):
            raise ValueError('queries, keys and values do not fit')
        heads = [-1, ahead[-1] if len(ahead) > 1 else 1]
        flat = lambda t: t.reshape(*heads, *t.shape[-2:])  # what fused kernels take: batch, heads, length, width
        mask, causal = None, False
        for o in operands[3:]:
            if o is None or o.scalar or len(o.dims) < 2:
                continue
            if o.grad:
                mask = self.tensor(o)
            elif o.dims[-1] == o.dims[-2] and math.prod(o.dims[:-2]) == 1:
                causal = mask is None
            elif mask is None:
                mask = self.torch.zeros(o.dims, dtype=q.dtype, device='cuda')
        causal = causal and mask is None and q.shape[-2] > 1

        def run():
            keys = k.transpose(-1, -2) if turned else k
            bias = mask if mask is None or mask.dtype == q.dtype else mask.to(q.dtype)
            if bias is not None and bias.dim() > 4:
                bias = bias.expand(*ahead, *bias.shape[-2:]).reshape(*heads, *bias.shape[-2:])
            return F.scaled_dot_product_attention(flat(q), flat(keys), flat(v), attn_mask=bias, is_causal=causal)
        return run, (q, k, v, mask), q

    def recurrent(self, cell, operands, out):
        nn = self.torch.nn
        kind = {'LSTM': (nn.LSTM, 4), 'GRU': (nn.GRU, 3)}.get(cell['type'].upper(), (nn.RNN, 1))
        x, w = operands[0], operands[1]
        both, hidden = out[1] if len(out) == 4 else 1, out[-1]
        layer = kind[0](w.dims[-1], hidden, 1, bidirectional=both == 2).cuda()
        source = self.tensor(x)
        return lambda: layer(source)[0], (source, *layer.parameters()), source

    def norm(self, cell, operands, out):
        torch, F, x, kind = self.torch, self.F, self.tensor(operands[0]), cell['type']
        dims = operands[0].dims

        def pair(shape):
            return (torch.ones(shape, device='cuda').requires_grad_(), torch.zeros(shape, device='cuda').requires_grad_())
        if 'atch' in kind:
            w, b = pair(dims[1])
            mean, var = torch.zeros(dims[1], device='cuda'), torch.ones(dims[1], device='cuda')
            return lambda: F.batch_norm(x, mean, var, w, b, True), (x, w, b), x
        if 'nstance' in kind:                              # how exporters write a group norm: a channel is a group
            return lambda: F.group_norm(x, dims[1]), (x,), x
        if 'roup' in kind:
            groups = next(g for g in (32, 16, 8, 4, 2, 1) if dims[1] % g == 0)
            w, b = pair(dims[1])
            return lambda: F.group_norm(x, groups, w, b), (x, w, b), x
        scale = next((o.dims for o in operands[1:] if o and o.weight and o.dims), dims[-1:])
        shape = scale if scale == dims[-len(scale):] else dims[-1:]
        w, b = pair(shape)
        if 'RMS' in kind or 'implified' in kind:
            return lambda: F.rms_norm(x, shape, w), (x, w), x
        return lambda: F.layer_norm(x, shape, w, b), (x, w, b), x

    def activation(self, cell, operands, out):
        torch, F, x = self.torch, self.F, self.tensor(operands[0])
        calls = {'Gelu': F.gelu, 'Silu': F.silu, 'Sigmoid': torch.sigmoid, 'HardSwish': F.hardswish, 'HardSigmoid': F.hardsigmoid,
                 'Clip': F.relu6, 'LeakyRelu': lambda t: F.leaky_relu(t, .1), 'Tanh': torch.tanh, 'Elu': F.elu, 'Softplus': F.softplus,
                 'Sin': torch.sin, 'Cos': torch.cos, 'Mish': F.mish, 'Exp': torch.exp, 'Log': lambda t: torch.log(t.abs() + 1),
                 'Erf': torch.erf, 'Selu': F.selu, 'Dropout': lambda t: F.dropout(t, .1, True)}
        call = calls.get(cell['type'], F.relu)
        return lambda: call(x), (x,), x

    def elementwise(self, cell, operands, out):
        if cell['type'].startswith(('Reduce', 'Arg', 'Cum')):
            return self.reduction(cell, operands, out)
        torch = self.torch
        made = [2.0 if o.scalar or not o.dims else self.tensor(o) for o in operands if o]
        tensors = [t for t in made if not isinstance(t, float)]
        if not tensors:
            raise ValueError('it has no operand of more than one element')
        a, b, kind = made[0], made[1] if len(made) > 1 else 2.0, cell['type']
        if kind == 'Where':
            where = tensors[0].detach() != 5
            values = [t for t in made[1:]] + [1.0, 1.0]
            return lambda: torch.where(where, values[0], values[1]), tensors, tensors[0]
        if kind in ('Equal', 'Not', 'Less', 'Greater', 'And', 'Or', 'IsNaN', 'GreaterOrEqual', 'LessOrEqual'):
            return lambda: torch.ne(tensors[0].detach(), 0), (), tensors[0]
        if kind == 'Cast':
            return lambda: tensors[0].to(torch.float32 if tensors[0].dtype != torch.float32 else torch.bfloat16), tensors, tensors[0]
        unary = {'Sqrt': lambda t: torch.sqrt(t.abs()), 'Reciprocal': torch.reciprocal, 'Neg': torch.neg, 'Abs': torch.abs,
                 'Exp': torch.exp, 'Log': lambda t: torch.log(t.abs() + 1)}
        if kind in unary or len(made) == 1:
            call = unary.get(kind, torch.neg)
            return lambda: call(tensors[0]), tensors, tensors[0]
        binary = {'Add': lambda: a + b, 'Sub': lambda: a - b, 'Mul': lambda: a * b, 'Div': lambda: a / b,
                  'Pow': lambda: tensors[0] ** 2, 'Max': lambda: torch.maximum(a, b), 'Min': lambda: torch.minimum(a, b)}
        return binary.get(kind, binary['Mul']), tensors, tensors[0]

    def reduction(self, cell, operands, out):
        torch, x, dims = self.torch, self.tensor(operands[0]), operands[0].dims
        if len(out) == len(dims):
            axes = [i for i, (n, m) in enumerate(zip(dims, out)) if n != m]
        else:                                              # those left over when the output's are found in order
            axes, left = [], list(out)
            for i, n in enumerate(dims):
                if left and left[0] == n:
                    left.pop(0)
                else:
                    axes.append(i)
        keep, kind = len(out) == len(dims), cell['type']
        if not axes:
            axes = [len(dims) - 1]
        if kind.startswith('Arg'):
            return lambda: x.detach().argmax(axes[0]), (), x
        if kind.startswith('Cum'):
            return lambda: x.cumsum(-1), (x,), x
        if kind == 'ReduceSum':
            return lambda: x.sum(axes, keepdim=keep), (x,), x
        if kind == 'ReduceMax':
            return lambda: x.amax(axes, keepdim=keep), (x,), x
        if kind == 'ReduceL2':
            return lambda: torch.linalg.vector_norm(x, dim=axes, keepdim=keep), (x,), x
        return lambda: x.mean(axes, keepdim=keep), (x,), x

    def softmax(self, cell, operands, out):
        x = self.tensor(operands[0])
        return lambda: self.F.softmax(x, -1), (x,), x

    def pool(self, cell, operands, out):
        F, x, space = self.F, self.tensor(operands[0]), len(operands[0].dims) - 2
        if not 1 <= space <= 3 or len(out) != space + 2:
            raise ValueError('a pool of no such dimensions')
        if 'Global' in cell['type'] or all(m == 1 for m in out[2:]):
            if 'Max' in cell['type']:
                return lambda: x.amax(list(range(2, space + 2)), keepdim=True), (x,), x
            return lambda: (F.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d)[space - 1](x, 1), (x,), x
        kernel = roots(int(cell['window']), space)
        found = [window_of(n, m, k, 1) for n, m, k in zip(operands[0].dims[2:], out[2:], kernel)]
        steps, pads = [s for s, _ in found], [min(p, k // 2) for (_, p), k in zip(found, kernel)]
        calls = (F.max_pool1d, F.max_pool2d, F.max_pool3d) if 'Max' in cell['type'] else (F.avg_pool1d, F.avg_pool2d, F.avg_pool3d)
        call = calls[space - 1]
        return lambda: call(x, kernel, steps, pads), (x,), x

    def embedding(self, cell, operands, out):
        table = next(o for o in operands if o and not o.whole)
        ids = next((o for o in operands if o and o.whole), None)
        count = math.prod(ids.dims) if ids else math.prod(out) // max(1, table.dims[-1])
        w = self.tensor(table)
        index = self.torch.randint(0, table.dims[0], (max(1, count),), device='cuda')
        return lambda: self.F.embedding(index, w), (w,), index

    def move(self, cell, operands, out):
        torch, F, kind = self.torch, self.F, cell['type']
        made = [self.tensor(o) for o in operands if o and not o.scalar and (kind == 'Concat' or not o.whole)]
        if not made:
            raise ValueError('it has no operand to copy')
        x = made[0]
        if kind == 'Concat' and len(made) > 1:
            axis = next((i for i in range(x.dim()) if sum(t.shape[i] for t in made) == out[i]), None)
            if axis is not None and all(t.dim() == x.dim() for t in made):
                floats = [t if t.is_floating_point() else t.float() for t in made]
                return lambda: torch.cat(floats, axis), made, x
        if kind == 'Resize' and x.dim() == 4 and len(out) == 4:
            return lambda: F.interpolate(x, size=out[2:], mode='bilinear', align_corners=False), (x,), x
        if kind == 'Pad' and len(out) == x.dim() and all(m >= n for n, m in zip(x.shape, out)):
            pads = [p for n, m in reversed(list(zip(x.shape, out))) for p in ((m - n) // 2, m - n - (m - n) // 2)]
            return lambda: F.pad(x, pads), (x,), x
        if kind.startswith('Gather') and len(out) == x.dim():
            axis = next((i for i, (n, m) in enumerate(zip(x.shape, out)) if n != m), 0)
            index = torch.randint(0, x.shape[axis], (out[axis],), device='cuda')
            return lambda: x.index_select(axis, index), (x,), x
        if x.dim() > 2:
            return lambda: x.transpose(1, -1).clone(memory_format=torch.contiguous_format), (x,), x
        return lambda: x.clone(), (x,), x

    def update(self, cell):
        """The optimizer's pass over weights of these sizes: '64*3 9408*1' is three of 64 and one of 9408 elements."""
        torch, weights = self.torch, []
        for part in cell['operands'].split(' '):
            size, _, count = part.partition('*')
            for _ in range(int(count or 1)):
                weights.append(torch.zeros(int(size), device='cuda').requires_grad_())
        for w in weights:
            w.grad = torch.ones_like(w)
        kind = cell['type']
        optimizer = torch.optim.AdamW(weights, 1e-4) if kind == 'adamw' else torch.optim.SGD(weights, 0.01, momentum=0.9)
        return optimizer.step, [], None
