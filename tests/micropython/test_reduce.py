"""Reductions, scans, sorting and sets: the same as PyTorch's for every kind of tensor."""

from __future__ import annotations

import pytest

from support.micropython_agree import differences
from support.micropython_scripts import output

SETUP = """
x = torch.remainder(torch.arange(24).reshape(2, 3, 4) * 7, 11) * 0.37 - 1.5
i = torch.remainder(torch.arange(24).reshape(2, 3, 4) * 7, 11) - 3
s = torch.tensor(1.5)
e = torch.zeros(0, 3)
b = i > 2
u = torch.arange(6, dtype=torch.uint8).reshape(2, 3)
h = torch.full((2, 3), 1.5, dtype=torch.float16)
xt = x.permute(2, 0, 1)
n = torch.where(i == 4, torch.tensor(float("nan")), x)
L = torch.tensor
inf = float("inf")
"""
TENSORS = ("x", "xt", "i", "b", "u", "h", "s", "n")
REDUCTIONS = """
sum()
sum(0)
sum(-1)
sum((0,-1))
sum(dim=(0,1),keepdim=True)
sum(dtype=torch.int64)
sum(dtype=torch.bool)
prod(0,dtype=torch.bool)
sum(-1,dtype=torch.float16)
sum(0,dtype=torch.float32)
mean()
mean(0)
mean((0,1),True)
mean(dtype=torch.float32)
prod()
prod(0)
prod(-1,True)
amax()
amax(0)
amin((0,1))
amin(-1,keepdim=True)
max()
max(0)
max(-1,True)
min()
min(1)
argmax()
argmax(0)
argmin(-1,True)
argmax(keepdim=True)
any()
any(0)
all(-1,True)
any((0,1))
all()
aminmax()
aminmax(dim=0,keepdim=True)
var()
var(0)
std(-1,True)
var((0,1),correction=0)
std(unbiased=False)
norm()
norm(1,0)
norm(3,-1,True)
norm(float("inf"))
norm(float("-inf"),0)
norm(0,0)
logsumexp(0)
logsumexp((0,-1),True)
count_nonzero()
count_nonzero(0)
count_nonzero(None)
count_nonzero((0,1))
nansum()
nansum(0)
nanmean(-1)
trace()
"""
LANES = """
cumsum(0)
cumsum(-1)
cumprod(0)
cumprod(-1)
cummax(0)
cummin(-1)
logcumsumexp(0)
cumsum(0,dtype=torch.float32)
sort()[0]
sort(0,stable=True)
sort(descending=True)[0]
argsort(stable=True)
msort()
median()
median(0)[0]
median(-1,True)[0]
nanmedian()
nanmedian(-1)[0]
mode()[0]
mode(0)[0]
kthvalue(1)[0]
kthvalue(2,0,True)[0]
kthvalue(9)
quantile(0.3)
quantile(L([0.,.25,1.]),dim=0)
quantile(L([.25,.7]),dim=-1,keepdim=True)
quantile(0.4,keepdim=True)
nanquantile(0.5,dim=-1)
quantile(.3,interpolation="nearest")
quantile(.3,interpolation="lower",dim=0)
quantile(.3,interpolation="higher")
quantile(.3,interpolation="midpoint",dim=-1)
topk(1)[0]
topk(2,0)[0]
topk(2,largest=False)[0]
topk(9)
diff()
diff(dim=0)
diff(2)
unique()
unique(return_inverse=True,return_counts=True)
unique_consecutive()
unique_consecutive(return_inverse=True,return_counts=True)
unique(dim=0)
unique(dim=-1,return_inverse=True,return_counts=True)
unique_consecutive(dim=0,return_inverse=True,return_counts=True)
unique_consecutive(dim=1)
"""
OTHERS = """
i.mean()
e.mean()
e.mean(0)
e.sum(0)
e.amax(0)
e.amax(1)
e.amax()
e.max()
e.max(0)
e.max(1)
e.argmax()
e.argmax(0)
e.argmax(1)
x.argmax(5)
e.aminmax()
e.aminmax(dim=0)
e.any()
e.all(0)
x.any(())
x.all(dim=())
x.sum(())
x.sum([])
x.amax(())
x.sum((0,0))
u.sum(dtype=torch.uint8)
x.var(correction=70)
e.var(0)
e.var(1)
e.logsumexp(0)
e.prod()
torch.full((3,),inf).logsumexp(0)
torch.full((3,),-inf).logsumexp(0)
torch.dist(x,x*2)
torch.dist(x,x*2,1)
torch.arange(10000).mul(0.01).sum()
torch.arange(10000).mul(0.01).reshape(100,100).t().sum(0)
torch.arange(10000).mul(0.01).var()
torch.arange(10000).mul(0.001).logsumexp(0)
torch.zeros(3,2,dtype=torch.int32).trace()
torch.sum(x,0,out=torch.zeros(3,4))
torch.sum(x,axis=0,keepdims=True)
torch.var_mean(x,False)
torch.var_mean(x,(0,1),correction=0,keepdim=True)
torch.std_mean(x,-1)
torch.var_mean(i)
torch.dist(i,i*2.0,3)
n.nansum(dtype=torch.int64)
n.nanmean((0,1),True)
i.nanmean()
torch.logsumexp(x,1,out=torch.zeros(0))
torch.logcumsumexp(L([-inf,-inf,1,inf,2]),0)
n.cummax(1)
e.cummin(1)
e.logcumsumexp(0)
torch.zeros(0,dtype=torch.int64).median()
torch.zeros(0,dtype=torch.int32).nanmedian()
torch.zeros(0,dtype=torch.uint8).median()
e.reshape(-1).median()
torch.zeros(0,0).mode(0)
torch.zeros(3,0).kthvalue(1,0)
L(5.).mode(keepdim=True)
torch.frobenius_norm(x,(0,1),True)
x.norm('foo')
x.norm(None,0)
"""
SORTED_SETUP = """
L = torch.tensor
x = L([[3.5, -1, 2, 2], [0, 7, -2, 7], [1, 1, 1, 0.5]])
i = L([[3, -1, 2, 2], [0, 7, -2, 7], [1, 1, 1, 0]])
s = L(1.5)
e = torch.zeros(0, 3)
"""
SORTED = """
x.sort(5)
x.clone().cumsum_(0)
i.int().cumsum_(0)
i.int().cumsum(0)
s.sort()
e.sort(1)
e.cumsum(0)
e.median()
e.median(0)
e.median(1)
e.mode()
e.kthvalue(1,0)
e.quantile(.5)
x.quantile(1.5)
x.quantile(.5,interpolation='foo')
x.diff(prepend=x)
x.diff(append=x.narrow(1,0,1),dim=1)
x.diff(n=-1)
x.diff(n=0)
x.diff(n=9)
torch.sort(x,out=(torch.zeros(3,4),torch.zeros(3,4,dtype=torch.int64)))
torch.cummax(x,0,out=(torch.zeros(3,4),torch.zeros(3,4,dtype=torch.int64)))
torch.isin(x,L([1.,2]))
torch.isin(x,2)
torch.isin(2,x)
torch.isin(i,L([1,4]),invert=True)
torch.isin(i,L([1.,4]))
torch.isin(elements=i,test_elements=L([7,-2]),invert=True)
torch.isin(x,torch.zeros(0))
torch.isin(i>0,i)
torch.isin(i,L([2,7]),out=torch.zeros(3,4,dtype=torch.bool))
torch.unique(torch.stack([i,i.flip(0),i,i%2]),dim=0,return_inverse=True,return_counts=True)
torch.unique(torch.stack([i,i%2,i]).half(),dim=1,return_inverse=True,return_counts=True)
torch.unique_consecutive(torch.cat([i,i[2:],i]),dim=0,return_inverse=True,return_counts=True)
e.unique(dim=0,return_inverse=True,return_counts=True)
e.unique(dim=1)
e.unique_consecutive(return_inverse=True,return_counts=True)
s.unique(dim=0)
s.unique_consecutive(return_inverse=True,return_counts=True)
x.quantile(L([.1,.9]),-2,True)
x.quantile(L([]),0)
s.quantile(L([.3,.1]),keepdim=True)
x.half().quantile(.3)
torch.searchsorted(torch.zeros(0),L([1.,2]))
torch.searchsorted(torch.zeros(2,3),torch.ones(2,0))
torch.searchsorted(L([1.,2,float('nan')]),L([1.5,float('nan'),3]),right=True)
torch.bincount(i.reshape(-1)+2,minlength=20)
torch.bincount(i.reshape(-1))
torch.bincount(L([],dtype=torch.int64))
torch.searchsorted(L([1.,2,3]),L([2.,5]))
torch.searchsorted(L([1.,2,3]),2)
torch.searchsorted(x.sort()[0],x)
torch.searchsorted(x,L([1.]))
torch.searchsorted(L([1.,2,3]),L([2.,5]),right=True,out_int32=True)
torch.searchsorted(L([1.,2,3]),L([2.,5]),side='right')
torch.searchsorted(L([1.,2,3]),L([2.,5]),side='foo')
torch.searchsorted(L([1,2,3]),L([2,5]))
torch.bucketize(x,L([1.,2,3]))
torch.bucketize(2,L([1.,2,3]))
torch.bucketize(i,L([1,2,3]),right=True)
torch.argsort(i,descending=True,stable=True)
torch.randperm(3000,generator=torch.Generator().manual_seed(1)).sort()[1]
torch.searchsorted(L([3.,1,2]),L([2.,5]),sorter=L([1,2,0]))
torch.searchsorted(L([3.,1,2]),L([2.,5]),sorter=L([1,2]))
x.norm('fro')
x.norm('fro',(0,1),True)
x.norm(p='fro',dim=0)
torch.nonzero(i,as_tuple=True)
i.nonzero(as_tuple=False)
s.nonzero(as_tuple=True)
torch.cat([x,x],out=x)
torch.take(x,L([1,2]),out=x.view(12).narrow(0,0,2))
"""


def test_norms_of_matrices_agree() -> None:
    setup = """
x = torch.tensor([[3.0, 1, -2, 4], [0, 7, -5, 7], [1, 6, 1, -3]])
y = torch.remainder(torch.arange(24.0).reshape(2, 3, 4) * 7, 11) - 4
inf = float("inf")
"""
    calls = [f"torch.linalg.norm(x,{order}{dims}{keep})" for order in ("1", "-2", "inf", "'nuc'", "'fro'", "0", "'foo'")
             for dims in ("", ",(1,0)", ",0", ",(0,0)") for keep in ("", ",keepdim=True")]
    calls += """
torch.linalg.norm(y,1,(0,2))
torch.linalg.norm(y,2,(0,2))
torch.linalg.norm(y,-inf,(2,0),True)
torch.linalg.norm(y,'nuc',(2,0),True)
torch.linalg.norm(y)
torch.linalg.norm(y,1)
torch.linalg.norm(x.half(),1,dtype=torch.float32)
torch.linalg.norm(x,1,out=torch.zeros(()))
torch.linalg.norm(torch.zeros(3,0),1)
torch.linalg.norm(torch.zeros(3,0),'nuc')
torch.linalg.norm(x.int(),1)
torch.linalg.norm(x,1,dtype=torch.float16)
torch.linalg.matrix_norm(y)
torch.linalg.matrix_norm(y,-1)
torch.linalg.vector_norm(x,dtype=torch.float16)
x.norm('nuc')
""".strip().splitlines()
    assert not differences(setup, calls, 1e-5)


def test_out_may_be_the_input() -> None:
    """PyTorch overwrites what it has not read yet."""
    assert output("""
import torch
x = torch.arange(6.0).reshape(2, 3)
print(torch.max(x, 1, out=(x, torch.zeros(0, dtype=torch.int64)))[0], x.shape)
x = torch.arange(6.0).reshape(2, 3)
print(torch.mean(x, 0, out=x).clone(), torch.sum(x, 0, out=x))
""") == "tensor([2., 5.]) torch.Size([2])\ntensor([1.5000, 2.5000, 3.5000]) tensor(7.5000)\n"


@pytest.mark.parametrize("tensor", TENSORS)
def test_reductions_agree(tensor: str) -> None:
    forms = [*REDUCTIONS.strip().splitlines(), *LANES.strip().splitlines()]
    if tensor == "n":  # nobody promises whether NaN equals NaN
        forms = [form for form in forms if not form.startswith(("mode", "unique"))]
    assert not differences(SETUP, [f"{tensor}.{form}" for form in forms], 1e-3 if tensor == "h" else 2e-6)


def test_special_reductions_agree() -> None:
    assert not differences(SETUP, OTHERS.strip().splitlines(), 2e-6)


def test_sorting_agrees() -> None:
    assert not differences(SORTED_SETUP, SORTED.strip().splitlines(), 2e-6)


def test_names_of_results() -> None:
    setup = """
x = torch.tensor([[3.0, 1.0, 2.0], [0.0, 7.0, 5.0]])
def names(r):
    return (r.values, r.indices, r[0], len(r))
"""
    named = ("max(1)", "min(0)", "sort()", "topk(2)", "median(1)", "mode()", "kthvalue(2)", "cummax(0)", "cummin(1)")
    expressions = [f"names(x.{form})" for form in named] + ["x.aminmax().min", "x.aminmax(dim=0).max"]
    assert not differences(setup, expressions)
