# What the first hour of PyTorch's own tutorials types: tensors, autograd left out, nn, inference.
import math
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
# ---- tensors
data = [[1, 2], [3, 4]]
x_data = torch.tensor(data)
print(x_data)
print(f"Ones Tensor: \n {torch.ones_like(x_data)} \n")
x_rand = torch.rand_like(x_data, dtype=torch.float)
print(f"Random Tensor: \n {x_rand} \n")
shape = (2, 3,)
print(f"Random Tensor: \n {torch.rand(shape)} \n")
print(f"Ones Tensor: \n {torch.ones(shape)} \n")
print(f"Zeros Tensor: \n {torch.zeros(shape)}")
tensor = torch.rand(3, 4)
print(f"Shape of tensor: {tensor.shape}")
print(f"Datatype of tensor: {tensor.dtype}")
print(f"Device tensor is stored on: {tensor.device}")
if torch.cuda.is_available():
    tensor = tensor.to("cuda")
tensor = torch.ones(4, 4)
print(f"First row: {tensor[0]}")
print(f"First column: {tensor[:, 0]}")
print(f"Last column: {tensor[..., -1]}")
tensor[:, 1] = 0
print(tensor)
t1 = torch.cat([tensor, tensor, tensor], dim=1)
print(t1)
y1 = tensor @ tensor.T
y2 = tensor.matmul(tensor.T)
y3 = torch.rand_like(y1)
torch.matmul(tensor, tensor.T, out=y3)
print(y1, y2.equal(y3))
z1 = tensor * tensor
z3 = torch.rand_like(tensor)
torch.mul(tensor, tensor, out=z3)
print(z1 == z3)
agg = tensor.sum()
agg_item = agg.item()
print(agg_item, type(agg_item))
print(f"{tensor} \n")
tensor.add_(5)
print(tensor)
print(f"tensor * tensor \n {tensor * tensor}")
x = torch.empty(5, 3, dtype=int)
print(x.size(), x.numel(), x.dtype)
x = torch.zeros(5, 3, dtype=torch.long)
x = x.new_ones(5, 3, dtype=torch.float32)
x = torch.randn_like(x, dtype=torch.float)
print(x, x[:, 1], x.view(-1, 5).size())
x = torch.randn(4, 4)
y = x.view(16)
z = x.view(-1, 8)
print(x.size(), y.size(), z.size())
x = torch.randn(1)
print(x, f"{x.item():.4f}", "%.4f" % x, round(x.item(), 3), math.isclose(x, x.item()))
# ---- a polynomial by hand
x = torch.linspace(-math.pi, math.pi, 200)
y = torch.sin(x)
a, b, c, d = torch.randn(4)
rate = 1e-6
for t in range(3):
    y_pred = a + b * x + c * x**2 + d * x**3
    loss = (y_pred - y).pow(2).sum().item()
    print(t, f"{loss:.2f}")
    grad = 2.0 * (y_pred - y)
    a -= rate * grad.sum()
    b -= rate * (grad * x).sum()
    c -= rate * (grad * x**2).sum()
    d -= rate * (grad * x**3).sum()
print(f"Result: y = {a.item():.3f} + {b.item():.3f} x + {c.item():.3f} x^2 + {d.item():.3f} x^3")
print(f"Result: y = {a:.3f} + {b:.3f} x")


# ---- networks
class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(1, 6, 5)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def forward(self, input):
        c1 = F.relu(self.conv1(input))
        s2 = F.max_pool2d(c1, (2, 2))
        c3 = F.relu(self.conv2(s2))
        s4 = F.max_pool2d(c3, 2)
        s4 = torch.flatten(s4, 1)
        f5 = F.relu(self.fc1(s4))
        f6 = F.relu(self.fc2(f5))
        return self.fc3(f6)


net = Net().cpu().to("cpu")
print(net)
params = list(net.parameters())
print(len(params), params[0].size())
net.eval()
with torch.no_grad():
    out = net(torch.randn(1, 1, 32, 32))
print([f"{v:.3f}" for v in out[0]], out.argmax(1), out.max(dim=1).indices)
target = torch.randn(10).view(1, -1)
print("%.4f" % nn.MSELoss()(out, target))
for name, param in net.named_parameters():
    print(f"Layer: {name} | Size: {param.size()} | Values : {param[:2].mean():.3f}")
model = nn.Sequential(nn.Flatten(), nn.Linear(8, 5), nn.ReLU(), nn.Linear(5, 3))
probabilities = nn.Softmax(dim=1)(model(torch.rand(1, 2, 4)))
y_pred = probabilities.argmax(1)
print(f"Predicted class: {y_pred}", probabilities.sum() == 1, 0 < probabilities.max() <= 1)
# ---- a training loop's inference half
xs, ys = torch.rand(12, 2, 4), torch.randint(0, 3, (12,))
loader = DataLoader(TensorDataset(xs, ys), batch_size=5, shuffle=True)
size, correct, test_loss = len(loader.dataset), 0, 0
started = time.time()
model.eval()
with torch.no_grad():
    for batch, (X, y) in enumerate(loader):
        pred = model(X)
        test_loss += F.cross_entropy(pred, y).item()
        correct += (pred.argmax(1) == y).type(torch.float).sum().item()
        print(f"[{batch * 5 + len(X):>5d}/{size:>5d}] {y}")
test_loss /= len(loader)
correct /= size
print(f"Test Error: \n Accuracy: {(100 * correct):>0.1f}%, Avg loss: {test_loss:>8f} \n", time.time() >= started)
classes = ["T-shirt", "Trouser", "Pullover"]
predicted, actual = classes[pred[0].argmax(0)], classes[y[0]]
print(f'Predicted: "{predicted}", Actual: "{actual}"')
values, indices = torch.topk(probabilities[0], 2)
for value, index in zip(values, indices):
    print(f"{classes[index]:>16s}: {100 * value.item():.2f}%", "%-10s|%5.1f%%" % (classes[int(index)], value * 100))
accuracy = lambda out, yb: (torch.argmax(out, dim=1) == yb).float().mean()
print(accuracy(pred, y) <= 1, torch.std_mean(xs, dim=(0, 1))[0].shape, torch.where(xs > 0.5, 1, 0).sum() > 0)
state = model.state_dict()
for key in state:
    print(key, "\t", state[key].size())
print(model.load_state_dict(state), sum(p.numel() for p in model.parameters() if p.requires_grad))
