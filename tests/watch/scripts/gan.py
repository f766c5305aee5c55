"""Two optimizers: the discriminator makes two steps for each of the generator's."""
import torch
from torch import nn

torch.manual_seed(5)
G = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 16))
D = nn.Sequential(nn.Linear(16, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
g_optimizer = torch.optim.Adam(G.parameters(), lr=2e-4, betas=(0.5, 0.999))
d_optimizer = torch.optim.Adam(D.parameters(), lr=2e-4, betas=(0.5, 0.999))
judge = nn.BCEWithLogitsLoss()
real, fake = torch.ones(10, 1), torch.zeros(10, 1)

for i in range(20):
    d_optimizer.zero_grad()
    d_loss = judge(D(torch.randn(10, 16)), real)
    d_loss.backward()
    d_fake = judge(D(G(torch.randn(10, 8)).detach()), fake)
    d_fake.backward()
    d_optimizer.step()
    if i % 2 == 1:
        g_optimizer.zero_grad()
        g_loss = judge(D(G(torch.randn(10, 8))), real)
        g_loss.backward()
        g_optimizer.step()
        print(d_loss.item().hex(), d_fake.item().hex(), g_loss.item().hex())
