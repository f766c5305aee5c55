"""What the loops are fed: samples made on the CPU by loader workers, without a file or a download."""
import torch
from torch.utils.data import Dataset

FOREVER = 10 ** 9


class Endless(Dataset):
    def __len__(self):
        return FOREVER


class Images(Endless):
    """uint8 images cropped, flipped and normalised on the CPU, so that loader workers matter."""

    def __init__(self, size, classes=1000):
        self.size, self.classes = size, classes
        self.base = torch.randint(0, 256, (64, 3, size + size // 8, size + size // 8), dtype=torch.uint8)

    def image(self, i):
        x = self.base[i % 64]
        o = int(torch.randint(0, x.shape[-1] - self.size + 1, (1,)))
        x = x[:, o:o + self.size, o:o + self.size].float().div_(255.)
        if i & 1:
            x = x.flip(-1)
        return (x - 0.45) / 0.22

    def __getitem__(self, i):
        return self.image(i), i % self.classes


class Masks(Images):
    """An image and a class for each of its pixels."""

    def __init__(self, size, classes=21):
        super().__init__(size, classes)
        self.masks = torch.randint(0, classes, (64, size // 8, size // 8)).repeat_interleave(8, 1).repeat_interleave(8, 2)

    def __getitem__(self, i):
        return self.image(i), self.masks[i % 64].clone()


class Boxes(Images):
    """An image and, for every anchor, a class (0: background) and a box."""

    def __init__(self, size, anchors, classes=20):
        super().__init__(size, classes)
        hit = (torch.rand(16, anchors, 1) < 0.01) * torch.randint(1, classes + 1, (16, anchors, 1))
        self.targets = torch.cat([hit.float(), torch.randn(16, anchors, 4)], 2)

    def __getitem__(self, i):
        return self.image(i), self.targets[i % 16].clone()


class Instances(Images):
    """An image and eight things in it: box, class (0 is background) and mask of each."""

    def __init__(self, size, classes=81, things=8):
        super().__init__(size, classes)
        near = torch.rand(16, things, 2) * size * 0.6
        far = near + size * 0.1 + torch.rand(16, things, 2) * size * 0.3
        self.boxes = torch.cat([near, far], 2).floor()
        self.labels = torch.randint(1, classes, (16, things))

    def __getitem__(self, i):
        boxes = self.boxes[i % 16]
        masks = torch.zeros(len(boxes), self.size, self.size, dtype=torch.uint8)
        for mask, (x, y, right, low) in zip(masks, boxes.int().tolist()):
            mask[y:low, x:right] = 1
        return self.image(i), boxes.clone(), self.labels[i % 16].clone(), masks


class Tokens(Endless):
    def __init__(self, length, vocab=10000):
        self.length, self.vocab = length, vocab

    def __getitem__(self, i):
        return torch.randint(0, self.vocab, (self.length,)), i % 2


class NextTokens(Tokens):
    def __getitem__(self, i):
        t = torch.randint(0, self.vocab, (self.length + 1,))
        return t[:-1], t[1:]


class Translations(Tokens):
    def __getitem__(self, i):
        t = torch.randint(0, self.vocab, (self.length + 1,))
        return torch.randint(0, self.vocab, (self.length,)), t[:-1], t[1:]


class Clicks(Endless):
    def __init__(self, fields, rows):
        self.fields, self.rows = fields, rows

    def __getitem__(self, i):
        return torch.randint(0, self.rows, (self.fields,)), torch.rand(13), float(i & 1)


class Ratings(Endless):
    def __init__(self, rows):
        self.rows = rows

    def __getitem__(self, i):
        return torch.randint(0, self.rows, (2,)), float(i & 1)


class Waves(Endless):
    def __init__(self, n):
        self.n = n

    def __getitem__(self, i):
        return torch.randn(self.n), i % 2


class Spectra(Endless):
    """80 mel bands over some frames, and a transcript of 24 letters out of 28."""

    def __init__(self, frames):
        self.frames = frames

    def __getitem__(self, i):
        return torch.randn(80, self.frames), torch.randint(1, 29, (24,))


class Signals(Endless):
    """A vector for each node of one fixed graph."""

    def __init__(self, nodes, features=32):
        self.nodes, self.features = nodes, features

    def __getitem__(self, i):
        return torch.randn(self.nodes, self.features), i % 10


class Replay(Endless):
    """A replay buffer of 84x84 frames: state, next state, action, reward."""

    def __init__(self):
        self.frames = torch.randint(0, 256, (4096, 84, 84), dtype=torch.uint8)

    def __getitem__(self, i):
        o = int(torch.randint(0, 4090, (1,)))
        return self.frames[o:o + 4], self.frames[o + 1:o + 5], i % 6, float(i & 1)


class Rollouts(Endless):
    """An observation with action, advantage, return and the old log-probability."""

    def __init__(self, width):
        self.width = width

    def __getitem__(self, i):
        return torch.randn(self.width), torch.tensor([float(i % 8), float(i & 1) - 0.5, float(i & 3), -2.0])


class Vectors(Endless):
    """A vector, normalised on the CPU, and its class."""

    def __init__(self, width, classes=10):
        self.width, self.classes = width, classes

    def __getitem__(self, i):
        x = torch.randn(self.width)
        return (x - x.mean()) / x.std(), i % self.classes


class Things(Instances):
    """An image and the boxes and classes of eight things in it."""

    def __getitem__(self, i):
        return self.image(i), self.boxes[i % 16].clone(), self.labels[i % 16].clone()


class Clips(Endless):
    """Frames cropped, flipped and normalised on the CPU."""

    def __init__(self, frames, size, classes=400):
        self.size, self.classes = size, classes
        self.base = torch.randint(0, 256, (8, 3, frames, size + size // 8, size + size // 8), dtype=torch.uint8)

    def __getitem__(self, i):
        x = self.base[i % 8]
        o = int(torch.randint(0, x.shape[-1] - self.size + 1, (1,)))
        x = x[..., o:o + self.size, o:o + self.size].float().div_(255.)
        return ((x.flip(-1) if i & 1 else x) - 0.45) / 0.22, i % self.classes


class Clouds(Endless):
    """Points in space, turned and shifted on the CPU."""

    def __init__(self, points, classes):
        self.classes = classes
        self.base = torch.randn(64, 3, points)

    def __getitem__(self, i):
        a = torch.rand(1) * 6.2832
        x, y, z = self.base[i % 64]
        return torch.stack([a.cos() * x - a.sin() * y, a.sin() * x + a.cos() * y, z + torch.rand(1) * 0.1]), i % self.classes


class Series(Endless):
    """Some channels over time, and what comes after."""

    def __init__(self, channels, length, ahead):
        self.channels, self.length, self.ahead = channels, length, ahead

    def __getitem__(self, i):
        return torch.randn(self.channels, self.length), torch.randn(self.ahead)


class Dictation(Spectra):
    """A spectrum, and the words so far and next."""

    def __init__(self, frames, words=32, vocab=10000):
        super().__init__(frames)
        self.words, self.vocab = words, vocab

    def __getitem__(self, i):
        t = torch.randint(0, self.vocab, (self.words + 1,))
        return torch.randn(80, self.frames), t[:-1], t[1:]


class Bands(Endless):
    """128 mel bands over some frames, frames first, and a class."""

    def __init__(self, frames, bands=128):
        self.frames, self.bands = frames, bands

    def __getitem__(self, i):
        return torch.randn(self.frames, self.bands), i % 2


class Captions(Images):
    """Words and the image that they are of."""

    def __init__(self, size, length, vocab=10000):
        super().__init__(size)
        self.length, self.vocab = length, vocab

    def __getitem__(self, i):
        return torch.randint(0, self.vocab, (self.length,)), self.image(i)


class Moves(Endless):
    """State, action, reward and next state of something that is steered."""

    def __init__(self, width, actions):
        self.width, self.actions = width, actions

    def __getitem__(self, i):
        return torch.randn(self.width), torch.rand(self.actions) * 2 - 1, torch.randn(1), torch.randn(self.width)
