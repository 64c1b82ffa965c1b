# SPDX-License-Identifier: GPL-3.0-or-later
#
# The vocoder's network of MODEL.md in PyTorch, trained step by step on the batch that bench_vocoder wrote. Called as
#
#     python torch_vocoder.py FOLDER CORES MODE
#
# with a folder that holds weights.safetensors (initial weights; its metadata has the settings) and batch.safetensors
# (segments of the same length, and the matrix `spread` and `offset` that make the base of a mel), the cores to use, and
# how it is written:
#
#     eager      ordinary modules
#     compiled   torch.compile of the whole network
#
# The labels of the pitch are made once and not timed, the averaged weights that ours keeps are left out: both in its
# favour. It prints "READY version", then answers the lines on its standard input, one line each:
#
#     CHECK n rate →  STEPS …            loss and norm of the gradient of n steps at this learning rate, from the initial
#                                        weights
#     ROUND n      →  ROUND seconds      of n steps
#     QUIT
#
# or prints "SKIP reason" and ends.

import math
import os
import time

from torch_start import folder, mode, serve, tensors_read

import torch
from torch.nn import functional


class Block(torch.nn.Module):
    def __init__(self, p, name):
        super().__init__()
        take = lambda key: torch.nn.Parameter(p[name + key].contiguous().clone())
        self.taps = torch.nn.Parameter(p[name + "depthwise.weight"].t()[:, None, :].contiguous())
        self.bias = take("depthwise.bias")
        self.gain, self.shift = take("norm.weight"), take("norm.bias")
        self.up = torch.nn.Parameter(p[name + "up.weight"].t().contiguous())
        self.up_bias = take("up.bias")
        self.down = torch.nn.Parameter(p[name + "down.weight"].t().contiguous())
        self.down_bias = take("down.bias")

    def forward(self, x):  # [S, F, W]
        width = x.shape[2]
        y = functional.conv1d(x.transpose(1, 2), self.taps, self.bias, padding=3, groups=width).transpose(1, 2)
        y = functional.layer_norm(y, (width,), self.gain, self.shift, 1e-5)
        y = functional.gelu(functional.linear(y, self.up, self.up_bias), approximate="tanh")
        return x + functional.linear(y, self.down, self.down_bias)


class Network(torch.nn.Module):
    def __init__(self, p, settings):
        super().__init__()
        take = lambda key: torch.nn.Parameter(p["vocoder." + key].contiguous().clone())
        self.weight = torch.nn.Parameter(p["vocoder.input.weight"].permute(2, 1, 0).contiguous())
        self.bias = take("input.bias")
        self.gain, self.shift = take("input.norm.weight"), take("input.norm.bias")
        self.blocks = torch.nn.ModuleList(Block(p, "vocoder.block.%d." % i) for i in range(int(settings["blocks"])))
        self.last_gain, self.last_shift = take("norm.weight"), take("norm.bias")
        self.magnitude = torch.nn.Parameter(p["vocoder.magnitude.weight"].t().contiguous())
        self.magnitude_bias = take("magnitude.bias")
        self.pitch = torch.nn.Parameter(p["vocoder.pitch.weight"].t().contiguous())
        self.pitch_bias = take("pitch.bias")
        self.burst = torch.nn.Parameter(p["vocoder.burst.weight"].t().contiguous())
        self.burst_bias = take("burst.bias")
        self.burst_mel = torch.nn.Parameter(p["vocoder.burst.mel.weight"].t().contiguous())
        self.mean, self.deviation = float(settings["mel_mean"]), float(settings["mel_deviation"])

    def forward(self, mel, spread, offset, target, labels, short, weights):
        m = mel * self.deviation + self.mean
        base = (m - offset) @ spread.t()
        seen = (m + 5) / 2.5
        x = functional.conv1d(seen.transpose(1, 2), self.weight, self.bias, padding=3).transpose(1, 2)
        width = x.shape[2]
        x = functional.layer_norm(x, (width,), self.gain, self.shift, 1e-5)
        for block in self.blocks:
            x = block(x)
        x = functional.layer_norm(x, (width,), self.last_gain, self.last_shift, 1e-5)
        magnitude = base + functional.linear(x, self.magnitude, self.magnitude_bias)
        logits = functional.linear(x, self.pitch, self.pitch_bias)
        burst = functional.linear(x, self.burst, self.burst_bias) + functional.linear(seen, self.burst_mel)
        entropy = functional.cross_entropy(logits.flatten(0, 1), labels.flatten(0, 1))
        return (weights[0] * (magnitude - target).abs().mean() + weights[1] * entropy
                + weights[2] * (burst - short).abs().mean())


def labels_of(pitch, settings):
    """The labels [S, F, classes + 1] of pitch [S, F] in Hz, 0 where unvoiced."""
    classes, low, high = int(settings["classes"]), float(settings["low_hz"]), float(settings["high_hz"])
    q = (torch.log(pitch.clamp(min=1e-3) / low) / math.log(high / low)).clamp(0, 1) * (classes - 1)
    near = torch.exp(-0.5 * (torch.arange(classes) - q[..., None]) ** 2)
    near = near / near.sum(-1, keepdim=True)
    voiced = (pitch > 0)[..., None].float()
    return torch.cat([near * voiced, 1 - voiced], -1)


class Model:
    def __init__(self):
        p, self.settings = tensors_read(os.path.join(folder, "weights.safetensors"))
        batch, _ = tensors_read(os.path.join(folder, "batch.safetensors"))
        self.batch = (batch["mel"], batch["spread"], batch["offset"], batch["target"],
                      labels_of(batch["pitch"], self.settings), batch["burst"])
        self.weights = tuple(float(self.settings[key]) for key in ("magnitude", "pitch", "burst"))
        network = Network(p, self.settings)
        self.parameters = list(network.parameters())
        number = {key: float(self.settings[key]) for key in ("rate", "beta1", "beta2", "epsilon", "weight_decay")}
        self.optimizer = torch.optim.AdamW(
            [{"params": [x for x in self.parameters if x.dim() > 1], "weight_decay": number["weight_decay"]},
             {"params": [x for x in self.parameters if x.dim() == 1], "weight_decay": 0.0}],
            lr=number["rate"], betas=(number["beta1"], number["beta2"]), eps=number["epsilon"], fused=True)
        self.network = torch.compile(network) if mode == "compiled" else network

    def step(self):
        loss = self.network(*self.batch, self.weights)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self.parameters, float(self.settings["grad_clip"]), foreach=True)
        self.optimizer.step()
        return loss.item(), norm.item()


def answer(model, words):
    if words[0] == "CHECK":
        fresh = Model()
        for group in fresh.optimizer.param_groups:
            group["lr"] = float(words[2])
        return "STEPS " + " ".join("%.9g %.9g" % fresh.step() for _ in range(int(words[1])))
    begin = time.perf_counter()
    for _ in range(int(words[1])):
        model.step()
    return "ROUND %.9f" % (time.perf_counter() - begin)


serve(Model, answer)
