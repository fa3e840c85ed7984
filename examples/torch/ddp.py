"""The smallest program of PyTorch's DistributedDataParallel: each rank trains on numbers of its own.

    muster run --nproc-per-node 4 --torch-store loopback -- python3 examples/torch/ddp.py

It knows nothing of Muster. Without --torch-store it also runs, with its store in rank 0.
"""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = DistributedDataParallel(torch.nn.Linear(1, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    rank = dist.get_rank()
    inputs = torch.linspace(-1, 1, 16).reshape(-1, 1) + 0.1 * rank
    for _ in range(200):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(inputs), 3 * inputs + 1)
        loss.backward()
        optimizer.step()
    weight = model.module.weight.item()
    print(f"rank {rank} of {dist.get_world_size()} has learned {weight:.1f} x + {model.module.bias.item():.1f}")
    dist.barrier()
    dist.destroy_process_group()


main()
