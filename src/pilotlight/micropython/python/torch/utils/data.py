# Datasets and loaders of PyTorch, in one process. The order of shuffled items is PyTorch's, for the same seed.
import torch


class Dataset:
    def __getitem__(self, index):
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other):
        return ConcatDataset([self, other])


class IterableDataset(Dataset):
    def __iter__(self):
        raise NotImplementedError("Subclasses of IterableDataset should implement __iter__.")


class TensorDataset(Dataset):
    def __init__(self, *tensors):
        if [t for t in tensors if len(t) != len(tensors[0])]:
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index):
        return tuple([t[index] for t in self.tensors])

    def __len__(self):
        return len(self.tensors[0])


class Subset(Dataset):
    def __init__(self, dataset, indices):
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index):
        if isinstance(index, list):
            return self.dataset[[self.indices[k] for k in index]]
        return self.dataset[self.indices[index]]

    def __len__(self):
        return len(self.indices)


class ConcatDataset(Dataset):
    def __init__(self, datasets):
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")

    def __getitem__(self, index):
        if index < 0:
            if -index > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            index += len(self)
        for dataset in self.datasets:
            if index < len(dataset):
                return dataset[index]
            index -= len(dataset)
        raise IndexError("list index out of range")

    def __len__(self):
        return sum([len(dataset) for dataset in self.datasets])


def random_split(dataset, lengths, generator=None):
    lengths = list(lengths)
    if abs(sum(lengths) - 1) < 1e-6:
        whole = len(dataset)
        for k, part in enumerate(lengths):
            if not 0 <= part <= 1:
                raise ValueError("Fraction at index %d is not between 0 and 1" % k)
        lengths = [int(whole * part) for part in lengths]
        for k in range(whole - sum(lengths)):
            lengths[k % len(lengths)] += 1
    if sum(lengths) != len(dataset):
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = torch.randperm(sum(lengths), **({"generator": generator} if generator else {})).tolist()
    made, at = [], 0
    for n in lengths:
        made.append(Subset(dataset, order[at : at + n]))
        at += n
    return made


class Sampler:
    pass


class SequentialSampler(Sampler):
    def __init__(self, data_source):
        self.data_source = data_source

    def __iter__(self):
        return iter(range(len(self.data_source)))

    def __len__(self):
        return len(self.data_source)


def _seed(**kwargs):
    return torch.empty(1, dtype=torch.int64).random_(**kwargs).item()


class RandomSampler(Sampler):
    def __init__(self, data_source, replacement=False, num_samples=None, generator=None):
        self.data_source, self.replacement, self.generator = data_source, replacement, generator
        self.num_samples = len(data_source) if num_samples is None else num_samples
        if self.num_samples < 1:
            raise ValueError("num_samples should be a positive integer value, but got num_samples=%d" % self.num_samples)

    def __iter__(self):
        n, left, generator = len(self.data_source), self.num_samples, self.generator
        if generator is None:
            generator = torch.Generator()
            generator.manual_seed(_seed())
        if self.replacement:
            while left > 0:
                for k in torch.randint(n, (min(32, left),), generator=generator).tolist():
                    yield k
                left -= 32
        else:
            while left >= 0:
                for k in torch.randperm(n, generator=generator).tolist()[:left]:
                    yield k
                left -= n

    def __len__(self):
        return self.num_samples


class SubsetRandomSampler(Sampler):
    def __init__(self, indices, generator=None):
        self.indices, self.generator = indices, generator

    def __iter__(self):
        kwargs = {"generator": self.generator} if self.generator else {}
        return iter([self.indices[k] for k in torch.randperm(len(self.indices), **kwargs).tolist()])

    def __len__(self):
        return len(self.indices)


class BatchSampler(Sampler):
    def __init__(self, sampler, batch_size, drop_last):
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self):
        batch = []
        for k in self.sampler:
            batch.append(k)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def __len__(self):
        n = len(self.sampler)
        return n // self.batch_size if self.drop_last else (n + self.batch_size - 1) // self.batch_size


def default_collate(batch):
    first = batch[0]
    if isinstance(first, torch.Tensor):
        return torch.stack(batch, 0)
    if isinstance(first, (int, float)):
        return torch.tensor(batch)
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, dict):
        return dict([(key, default_collate([item[key] for item in batch])) for key in first])
    if isinstance(first, (tuple, list)):
        if [item for item in batch if len(item) != len(first)]:
            raise RuntimeError("each element in list of batch should be of equal size")
        made = [default_collate(list(items)) for items in zip(*batch)]
        return type(first)(*made) if hasattr(first, "_fields") else made
    raise TypeError(
        "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found %s" % type(first)
    )


# of an item without a batch
def _as_list(item):
    return list(item) if isinstance(item, tuple) and not hasattr(item, "_fields") else item


class DataLoader:
    def __init__(
        self, dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None, num_workers=0, collate_fn=None,
        pin_memory=False, drop_last=False, timeout=0, worker_init_fn=None, generator=None, **kwargs
    ):
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None and (batch_size != 1 or shuffle or sampler is not None or drop_last):
            raise ValueError(
                "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last")
        if batch_size is None and drop_last:
            raise ValueError(
                "batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        self.dataset, self.batch_size, self.drop_last, self.generator = dataset, batch_size, drop_last, generator
        self._streams = isinstance(dataset, IterableDataset)
        if self._streams and (shuffle or sampler is not None or batch_sampler is not None):
            raise ValueError("DataLoader with IterableDataset: expected unspecified shuffle, sampler and batch_sampler")
        if sampler is None and not self._streams:
            sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_sampler is None and batch_size is not None:
            batch_sampler = BatchSampler(dataset if self._streams else sampler, batch_size, drop_last)
        self.sampler, self.batch_sampler = sampler, batch_sampler
        self.collate_fn = collate_fn or (default_collate if batch_sampler is not None else _as_list)

    def __iter__(self):
        _seed(**({"generator": self.generator} if self.generator else {}))  # PyTorch draws one for its workers
        return self._items()

    def _items(self):
        batched = self.batch_sampler is not None
        for k in self.batch_sampler if batched else self.dataset if self._streams else self.sampler:
            item = k if self._streams else [self.dataset[i] for i in k] if batched else self.dataset[k]
            yield self.collate_fn(item)

    def __len__(self):
        if self.batch_sampler is not None:
            return len(self.batch_sampler)
        return len(self.dataset if self._streams else self.sampler)
