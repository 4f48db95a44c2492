"""Trains a network as one writes it, then ships it as a program that needs none of this code."""

import numpy as np

import fluidcore as fluid
from fluidcore import datasets, eager
from fluidcore.eager import nn


class Network(eager.Module):
    """Scores of the ten digits, [batch, 10], for images [batch, 1, 8, 8]."""

    def __init__(self) -> None:
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm(16), nn.ReLU(), nn.Flatten()
        )
        self.scores = nn.Sequential(nn.Dropout(0.2), nn.Linear(16 * 8 * 8, 10))

    def forward(self, images: eager.Tensor) -> eager.Tensor:
        """Whatever Python one likes stands here."""
        scores: eager.Tensor = self.scores(self.features(images))
        return scores


data = datasets.digits()
eager.seed(1)
random = np.random.default_rng(0)
model = Network()
optimizer = eager.AdamW(model.parameters(), lr=0.005)
for epoch in range(1, 5):
    for chosen in np.array_split(random.permutation(len(data.train_labels)), 18):
        scores = model(data.train_images[chosen])
        loss = eager.softmax_with_cross_entropy(scores, data.train_labels[chosen]).mean()
        optimizer.zero_grad()
        loss.backward()
        eager.clip_grad_norm(model.parameters(), 5.0)
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.4f}")

eager.save(model.state_dict(), "digits.safetensors")  # to go on in Python, or in PyTorch
traced = eager.trace(model.eval(), data.test_images, dynamic_batch=True)
traced.save("digits_model")  # to run it anywhere
print(traced)

exe = fluid.Executor()
program, (name,), fetches = fluid.io.load_inference_model("digits_model", exe)
(scores,) = exe.run(program, {name: data.test_images}, fetches)
right = np.mean(scores.argmax(1) == data.test_labels.ravel())
print(f"accuracy on {len(data.test_labels)} unseen digits: {right:.1%}")
of_module = model(data.test_images).numpy()
print(f"the program's scores are the module's within {np.abs(scores - of_module).max():.0e}")
