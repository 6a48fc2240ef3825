"""LeNet-5 for 28x28 grey images."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class LeNet(nn.Module):
    """Two convolutions with pooling and three fully connected layers."""

    def __init__(self, num_classes: int = 10) -> None:
        super(LeNet, self).__init__()
        self.conv1 = nn.Conv2d(1, 6, kernel_size=5, padding=2)
        self.conv2 = nn.Conv2d(6, 16, kernel_size=5)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, num_classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.max_pool2d(torch.tanh(self.conv1(x)), (2, 2))
        x = F.max_pool2d(torch.tanh(self.conv2(x)), 2)
        x = x.view(-1, self.num_flat_features(x))
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return F.log_softmax(self.fc3(x), dim=1)

    def num_flat_features(self, x: torch.Tensor) -> int:
        size = x.size()[1:]
        num_features = 1
        for s in size:
            num_features *= s
        return num_features
