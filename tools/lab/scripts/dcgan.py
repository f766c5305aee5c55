"""DCGAN with images of 64 x 64: two networks, two optimizers, the discriminator and the generator in turns; fp32."""
import argparse

import torch
import torch.nn as nn
import torch.optim as optim
import torch.utils.data

from meter import Meter

parser = argparse.ArgumentParser()
parser.add_argument("--batch", type=int, default=64)
parser.add_argument("--steps", type=int, default=2000)
parser.add_argument("--workers", type=int, default=1)
parser.add_argument("--lr", type=float, default=2e-4)
parser.add_argument("--nz", type=int, default=100)
parser.add_argument("--ngf", type=int, default=32)
parser.add_argument("--ndf", type=int, default=32)
parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
opt = parser.parse_args()
device = torch.device(opt.device)


def weights_init(m):
    if "Conv" in m.__class__.__name__:
        nn.init.normal_(m.weight, 0.0, 0.02)
    elif "BatchNorm" in m.__class__.__name__:
        nn.init.normal_(m.weight, 1.0, 0.02)
        nn.init.zeros_(m.bias)


ngf, ndf = opt.ngf, opt.ndf
netG = nn.Sequential(
    nn.ConvTranspose2d(opt.nz, ngf * 8, 4, 1, 0, bias=False), nn.BatchNorm2d(ngf * 8), nn.ReLU(True),
    nn.ConvTranspose2d(ngf * 8, ngf * 4, 4, 2, 1, bias=False), nn.BatchNorm2d(ngf * 4), nn.ReLU(True),
    nn.ConvTranspose2d(ngf * 4, ngf * 2, 4, 2, 1, bias=False), nn.BatchNorm2d(ngf * 2), nn.ReLU(True),
    nn.ConvTranspose2d(ngf * 2, ngf, 4, 2, 1, bias=False), nn.BatchNorm2d(ngf), nn.ReLU(True),
    nn.ConvTranspose2d(ngf, 3, 4, 2, 1, bias=False), nn.Tanh()).to(device).apply(weights_init)
netD = nn.Sequential(
    nn.Conv2d(3, ndf, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True),
    nn.Conv2d(ndf, ndf * 2, 4, 2, 1, bias=False), nn.BatchNorm2d(ndf * 2), nn.LeakyReLU(0.2, inplace=True),
    nn.Conv2d(ndf * 2, ndf * 4, 4, 2, 1, bias=False), nn.BatchNorm2d(ndf * 4), nn.LeakyReLU(0.2, inplace=True),
    nn.Conv2d(ndf * 4, ndf * 8, 4, 2, 1, bias=False), nn.BatchNorm2d(ndf * 8), nn.LeakyReLU(0.2, inplace=True),
    nn.Conv2d(ndf * 8, 1, 4, 1, 0, bias=False), nn.Flatten(0)).to(device).apply(weights_init)
criterion = nn.BCEWithLogitsLoss()
optimizerD = optim.Adam(netD.parameters(), lr=opt.lr, betas=(0.5, 0.999))
optimizerG = optim.Adam(netG.parameters(), lr=opt.lr, betas=(0.5, 0.999))
images = torch.utils.data.TensorDataset(torch.rand(8192, 3, 64, 64) * 2 - 1)
dataloader = torch.utils.data.DataLoader(images, batch_size=opt.batch, shuffle=True, num_workers=opt.workers, drop_last=True,
                                         persistent_workers=opt.workers > 0)
meter = Meter()
ones, zeros = torch.ones(opt.batch, device=device), torch.zeros(opt.batch, device=device)
while meter.steps < opt.steps:
    for (real,) in dataloader:
        netD.zero_grad()
        fake = netG(torch.randn(opt.batch, opt.nz, 1, 1, device=device))
        errD = criterion(netD(real.to(device)), ones) + criterion(netD(fake.detach()), zeros)
        errD.backward()
        optimizerD.step()
        netG.zero_grad()
        errG = criterion(netD(fake), ones)
        errG.backward()
        optimizerG.step()
        meter.step()
        if meter.steps % 500 == 0:
            print(f"[{meter.steps}/{opt.steps}] Loss_D: {errD.item():.4f} Loss_G: {errG.item():.4f}", flush=True)
        if meter.steps >= opt.steps:
            break
meter.report()
