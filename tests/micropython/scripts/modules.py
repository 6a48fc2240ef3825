# Registration, names, state dicts, containers and texts of modules.
import torch
from torch import nn
from collections import OrderedDict
P = nn.Parameter
def T(n, *shape):
    return torch.arange(float(n)).reshape(shape or (n,))
def show(f):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, *e.args)
class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = P(T(4, 2, 2))
        self.register_parameter('none', None)
        self.register_buffer('buf', T(3))
        self.register_buffer('tmp', T(2), persistent=False)
    def forward(self, x): return x
    def extra_repr(self): return 'extra=1'
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = Inner()
        self.b = nn.Sequential(Inner(), Inner())
        self.c = self.a
        self.act = nn.ReLU()
        self.lst = nn.ModuleList([Inner(), Inner(), nn.Tanh()])
        self.d = nn.ModuleDict({'x': nn.Sigmoid()})
        self.p = P(T(2))
        self.plain = 5
    def forward(self, x): return x
n = Net()
print(n)
print([k for k, _ in n.named_parameters()], [k for k, _ in n.named_parameters(remove_duplicate=False)])
print([k for k, _ in n.named_buffers()])
print([k for k, _ in n.named_modules()])
print([k for k, _ in n.named_children()], len(list(n.children())), len(list(n.modules())))
print(list(n.state_dict()))
print(list(n.state_dict(prefix='q.')))
sd = n.state_dict()
show(lambda: n.load_state_dict(sd))
sd2 = OrderedDict(sd); del sd2['p']; sd2['zz'] = T(1); sd2['a.w'] = T(2)
show(lambda: n.load_state_dict(sd2))
sd2.pop('a.w'); sd2.pop('c.w')
show(lambda: n.load_state_dict(sd2, strict=False))
show(lambda: n.load_state_dict([1]))
n.eval(); print(n.training, n.a.training, n.lst[0].training)
n.train(); print(n.training, n.d['x'].training)
class Bad(nn.Module):
    def __init__(self): self.x = nn.ReLU()
show(Bad)
class Bad2(nn.Module):
    def __init__(self): self.x = P(T(2))
show(Bad2)
class Bad3(nn.Module):
    def __init__(self): self.register_buffer('x', T(2))
show(Bad3)
show(lambda: setattr(n, 'p', T(2)))
show(lambda: setattr(n, 'p', 3))
show(lambda: setattr(n, 'a', 3))
show(lambda: setattr(n.a, 'buf', 3))
n.p = None; print(n.p, [k for k, _ in n.named_parameters(recurse=False)])
n.a.buf = T(5); print(n.a.buf.shape)
show(lambda: n.missing)
show(lambda: n.register_buffer('plain', T(1)))
show(lambda: n.register_buffer('x.y', T(1)))
show(lambda: n.register_buffer('', T(1)))
show(lambda: n.register_buffer('q', 3))
show(lambda: n.register_parameter('q', T(1)))
show(lambda: n.register_parameter('plain', P(T(1))))
show(lambda: n.register_parameter('x.y', P(T(1))))
show(lambda: n.add_module('q', 3))
show(lambda: n.add_module('x.y', nn.ReLU()))
show(lambda: n.add_module('plain', nn.ReLU()))
show(lambda: n.get_submodule('b.1'))
show(lambda: n.get_submodule('b.7'))
show(lambda: n.get_parameter('b.1.w').shape)
show(lambda: n.get_parameter('b.1.buf').shape)
show(lambda: n.get_buffer('b.1.buf').shape)
show(lambda: nn.Module()(1))
h = n.register_forward_hook(lambda m, a, o: o + 1)
h2 = n.register_forward_pre_hook(lambda m, a: (a[0] * 2,))
print(n(3)); h.remove(); print(n(3)); h2.remove(); print(n(3))
seen = []
n.apply(lambda m: seen.append(type(m).__name__)); print(seen)
s = nn.Sequential(OrderedDict([('one', nn.ReLU()), ('two', nn.Tanh())]))
print(s, s[0], s[-1], s.one, len(s), s[:1], [type(m).__name__ for m in s])
s = nn.Sequential(nn.ReLU(), nn.Tanh()); s.append(nn.Sigmoid()); s.insert(0, nn.GELU()); print(s); del s[1]; print(s); s[0] = nn.SiLU(); print(s)
show(lambda: s[9])
show(lambda: nn.Sequential(3))
l = nn.ModuleList([nn.ReLU()]); l.extend([nn.ReLU(), nn.Tanh()]); l += [nn.Tanh()]; print(l, l[1:3], len(l)); l.insert(1, nn.GELU()); print(l, l.pop(1))
d = nn.ModuleDict([['a', nn.ReLU()], ['b', nn.Tanh()]]); print(d, list(d.keys()), 'a' in d, len(d), d.pop('a'), list(d.items())); d['q'] = nn.GELU(); del d['b']; print(d)
pl = nn.ParameterList([T(2), P(T(3))]); pl.append(T(4)); print(pl, len(pl), pl[1], [tuple(p.shape) for p in pl], list(pl.state_dict()), pl[-1].shape, pl[:2])
pd = nn.ParameterDict([('a', T(2)), ('b', P(T(3)))]); print(pd, list(pd.keys()), pd['a'], 'b' in pd, list(pd.state_dict()), len(pd))
print(repr(nn.Sequential()), nn.ModuleList(), nn.ModuleDict(), nn.Identity(3))
import copy
c = copy.deepcopy(n); print(list(c.state_dict()) == list(n.state_dict()), c.a is n.a, c.a is c.c, c.a.w is n.a.w, isinstance(c.a.w, P))
print(n.half().a.w.dtype, n.a.w is n.c.w, n.float().a.w.dtype, n.to(torch.float16).a.buf.dtype, n.to('cpu').a.buf.dtype)
show(lambda: n.to(torch.int32))
n.requires_grad_(False); print([p.requires_grad for p in n.parameters()])
del n.a; print([k for k, _ in n.named_children()])
del n.p; del n.plain; print(hasattr(n, 'p'), hasattr(n, 'plain'))
print(nn.parameter.Parameter is nn.Parameter)
class Late(nn.Module):
    def __init__(self):
        super().__init__(); self.t = nn.Buffer(T(2)); self.x = None; self.x = nn.ReLU(); self.y = 3; self.y = P(T(1))
print(list(Late().state_dict()), Late())
show(lambda: nn.Conv2d(3, 4, 3, groups=2))
show(lambda: nn.Conv2d(4, 3, 3, groups=2))
show(lambda: nn.Conv2d(4, 4, 3, groups=0))
try:
    nn.Conv2d(4, 4, 3, padding='half')
except ValueError as error:  # PyTorch prints a set, in any order
    print(str(error).split(', ')[0])
show(lambda: nn.Conv2d(4, 4, 3, padding='same', stride=2))
show(lambda: nn.Conv2d(4, 4, 3, padding='same', stride=1))
show(lambda: nn.ConvTranspose2d(2, 2, 3, stride=2)(T(32, 1, 2, 4, 4), output_size=(10, 10)).shape)
show(lambda: nn.GroupNorm(3, 4))
show(lambda: nn.Dropout(2.0))
show(lambda: nn.BatchNorm2d(3)(T(6, 2, 3)))


class Counted(nn.Linear):
    def parameters(self, recurse=True):
        print("parameters")
        return super().parameters(recurse)

    def state_dict(self, *args, **kwargs):
        print("state_dict")
        return super().state_dict(*args, **kwargs)

    def train(self, mode=True):
        print("train", mode)
        return super().train(mode)

    def extra_repr(self):
        return "counted, " + super().extra_repr()


counted = nn.Sequential(Counted(2, 3), nn.ReLU())
print(counted, len(list(counted[0].parameters())), list(counted[0].state_dict()), counted.eval().training)
print(len(list(nn.Module.parameters(counted))), [name for name, _ in nn.Module.named_modules(counted)])
print(bool(nn.Sequential()), bool(nn.ModuleList([nn.ReLU()])))
