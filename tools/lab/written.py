"""The loops of the zoo as people write them: a WAY changes how a loop trains, not what.

  plain          as zoo/common.py has it, with AdamW
  compile        torch.compile around the model
  channels_last  model and images in that layout
  checkpointing  blocks are computed again in the backward pass
  lora           linear layers learn by adapters of rank 8, all else is frozen; without linear layers inside, the last quarter of the weights learns
  accumulate     four batches an optimizer step
  fused          AdamW(fused=True)
  for_loop       AdamW(foreach=False)
  fp16           autocast to fp16 with a GradScaler
  cuda_graphs    the model's passes are captured once and replayed
  inference      forward passes alone, eval mode

A step is a batch, whether or not the optimizer steps after it.
"""
import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint

ACCUMULATED = 4


class Adapted(nn.Module):
    """A frozen linear layer and what learns beside it."""

    def __init__(self, layer, rank=8):
        super().__init__()
        self.layer = layer
        self.a = nn.Linear(layer.in_features, rank, bias=False)
        self.b = nn.Linear(rank, layer.out_features, bias=False)
        nn.init.zeros_(self.b.weight)

    def forward(self, x):
        return self.layer(x) + 2 * self.b(self.a(x))


def blocks(model):
    """The outermost lists of modules with weights: what people checkpoint."""
    found = []
    for child in model.children():
        inside = [m for m in child.children() if any(True for _ in m.parameters())]
        if isinstance(child, (nn.Sequential, nn.ModuleList)) and len(inside) > 1:
            found += inside
        else:
            found += blocks(child)
    return found


def checkpointed(model):
    for block in blocks(model) or list(model.children()):
        forward = block.forward
        block.forward = lambda *a, _forward=forward, **k: checkpoint(_forward, *a, use_reentrant=False, **k)
    return model


def adapted(model):
    parameters = list(model.parameters())
    for p in parameters:
        p.requires_grad_(False)
    linear = [(parent, name, child) for parent in model.modules() for name, child in parent.named_children()
              if isinstance(child, nn.Linear) and not isinstance(parent, nn.MultiheadAttention)]
    if len(linear) > 4:
        for parent, name, child in linear:
            setattr(parent, name, Adapted(child))
        return model
    left = sum(p.numel() for p in parameters) / 4
    for p in reversed(parameters):
        p.requires_grad_(True)
        left -= p.numel()
        if left <= 0:
            break
    return model


def change(t, way):
    """Before the model is on its device."""
    if way == 'channels_last':
        t.model = t.model.to(memory_format=torch.channels_last)
    elif way == 'checkpointing':
        t.model = checkpointed(t.model)
    elif way == 'lora':
        t.model = adapted(t.model)
    return t


def optimizer_of(model, way):
    how = {'fused': {'fused': True}, 'for_loop': {'foreach': False}}.get(way, {})
    return torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], 1e-4, **how)


def steps(t, way, precision, device='cuda'):
    """As zoo/common.py's; yields how many steps are done."""
    if t.step or t.split:
        raise ValueError('a loop with a step of its own is not changed')
    cuda = device == 'cuda'
    if cuda:
        torch.backends.cudnn.benchmark = not t.varies
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision != 'fp32'
    model = t.model.to(device).train(way != 'inference')
    for m in t.side:
        m.to(device)
    half = torch.float16 if way == 'fp16' else torch.bfloat16
    mixed = precision == 'bf16' or way == 'fp16'
    # A captured graph must not keep copies of weights that autocast made before.
    autocast = lambda: torch.autocast(device, half, enabled=mixed, cache_enabled=way != 'cuda_graphs')
    called = model
    if way == 'compile':
        called = torch.compile(model)
    opt = optimizer_of(model, way) if way != 'inference' else None
    scaler = torch.amp.GradScaler(device) if way == 'fp16' else None
    done = 0
    t.fed = iter(t.loader)
    for b in t.fed:
        b = [x.to(device, non_blocking=cuda) for x in b]
        if way == 'channels_last':
            b = [x.contiguous(memory_format=torch.channels_last) if x.dim() == 4 else x for x in b]
        if way == 'cuda_graphs' and called is model:
            inputs = [x for x in b[:-1]]
            with autocast():
                called = torch.cuda.make_graphed_callables(model, tuple(inputs))
        if way == 'inference':
            with torch.inference_mode(), autocast():
                loss = t.loss(called, b)
        else:
            with autocast():
                loss = t.loss(called, b)
            if way == 'accumulate':
                loss = loss / ACCUMULATED
            (scaler.scale(loss) if scaler else loss).backward()
            if way != 'accumulate' or (done + 1) % ACCUMULATED == 0:
                if scaler:
                    scaler.step(opt)
                    scaler.update()
                else:
                    opt.step()
                opt.zero_grad(set_to_none=True)
        done += 1
        if done % 2 == 0:
            loss.item()
        yield done
