# Datasets and loaders: the same batches, in the same shuffled order.
import torch
from torch.utils.data import Dataset, TensorDataset, DataLoader, random_split, Subset, ConcatDataset, default_collate, RandomSampler, SequentialSampler, BatchSampler, IterableDataset
torch.manual_seed(0)
X, Y = torch.arange(20.).view(10, 2), torch.arange(10)
ds = TensorDataset(X, Y)
print(len(ds), ds[3])
for x, y in DataLoader(ds, batch_size=4): print(x.shape, y)
for x, y in DataLoader(ds, batch_size=4, shuffle=True): print(y)
for x, y in DataLoader(ds, batch_size=3, shuffle=True, drop_last=True): print(y)
print(len(DataLoader(ds, batch_size=4)), len(DataLoader(ds, batch_size=4, drop_last=True)))
a, b = random_split(ds, [7, 3]); print(len(a), len(b), a.indices, [int(y) for _, y in b])
a, b = random_split(ds, [0.75, 0.25], generator=torch.Generator().manual_seed(42)); print(a.indices, b.indices)
class Sq(Dataset):
    def __init__(self, n): self.n = n
    def __len__(self): return self.n
    def __getitem__(self, k): return {"x": torch.tensor([k, k * k]), "name": str(k), "v": k, "p": (k, [k])}
for b in DataLoader(Sq(3), batch_size=2): print(sorted(b.items()))
x, y = next(iter(DataLoader(ds, batch_size=2))); print(x, y)
print(next(iter(DataLoader(ds, batch_size=None))))
print(list(DataLoader(list(range(5)), batch_size=2, shuffle=True)), [float(x) for x in DataLoader([1.5, 2.5])], list(DataLoader(range(4), batch_size=2, collate_fn=lambda b: b)))
print(list(RandomSampler(range(5), replacement=True, num_samples=40)), list(BatchSampler(SequentialSampler(range(5)), 2, False)), len(ConcatDataset([ds, ds])), ConcatDataset([ds, Subset(ds, [1])])[10][1])
class It(IterableDataset):
    def __iter__(self): return iter(range(5))
print(list(DataLoader(It(), batch_size=2)))
for f in (lambda: DataLoader(ds, shuffle=True, sampler=SequentialSampler(ds)), lambda: random_split(ds, [1, 2]), lambda: TensorDataset(X, Y[:3]), lambda: default_collate([None]), lambda: DataLoader([], shuffle=True), lambda: Dataset()[0]):
    try: print(f())
    except Exception as e: print(type(e).__name__, str(e)[:60])
