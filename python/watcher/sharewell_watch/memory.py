"""How many bytes of tensors are alive at once: a sum over storages, each known by a weak reference."""
from torch.multiprocessing.reductions import StorageWeakRef

_YOUNG = 64     # The newest storages are looked through at every operator: temporary tensors are among them.
_CLOSE = 1.005  # All are looked through when there may be a peak so much above the last one.


def storage(x):
    """The storage of a tensor; None where it has none (sparse, nested, wrapped)."""
    try:
        untyped = getattr(x, 'untyped_storage', None)
        return untyped() if untyped is not None else x._storage()  # PyTorch 1.13 has the latter.
    except Exception:  # Each kind of tensor has its own way to say so.
        return None


def key(x):
    found = storage(x)
    return None if found is None else found._cdata


def size(tensors, device):
    """Bytes of the storages of tensors on a kind of device, each counted once."""
    found = {}
    for x in tensors:
        if x is not None and x.device.type == device:
            s = storage(x)
            if s is not None:
                found[s._cdata] = s.nbytes()
    return sum(found.values())


class Memory:
    def __init__(self, device):
        self.device = device
        self.live = {}   # Storage: (weak reference, bytes)
        self.young = []
        self.sum = self.peak = 0

    def began_with(self, tensors):
        """Tensors that are there already when the step begins."""
        for x in tensors:
            if x is not None:
                self._add(x)
        self.peak = max(self.peak, self.sum)

    def saw(self, before, after):
        """An operator made the tensors `after` of those `before`. Of the latter those that are new were there all the time."""
        for x in before:
            self.peak += self._add(x)
        for x in after:
            if self._add(x):
                self.young.append(key(x))
        if self.sum > self.peak:
            self._forget(self.young)
            del self.young[:-_YOUNG]
            if self.sum > self.peak * _CLOSE:
                self._forget(list(self.live))
            self.peak = max(self.peak, self.sum)

    def alive(self):
        self._forget(list(self.live))
        return self.sum

    def _add(self, x):
        if x.device.type != self.device:
            return 0
        s = storage(x)
        if s is None:
            return 0
        if s._cdata in self.live:  # The same one: a storage's address is not used again while a weak reference to it is kept.
            return 0
        size_of = s.nbytes()
        self.live[s._cdata] = (StorageWeakRef(s), size_of)
        self.sum += size_of
        return size_of

    def _forget(self, keys):
        for one in keys:
            known = self.live.get(one)
            if known is not None and known[0].expired():
                del self.live[one]
                self.sum -= known[1]

