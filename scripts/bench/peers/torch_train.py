# SPDX-License-Identifier: GPL-3.0-or-later
#
# The model of MODEL.md in PyTorch, trained step by step on the batches that bench_train wrote. Called as
#
#     python torch_train.py FOLDER CORES MODE
#
# with a folder that holds weights.safetensors (initial weights; its metadata has the settings) and
# batch-E-S.safetensors (epoch, step), the cores to use ("0,1": one thread each), and how it is written:
#
#     eager      ordinary modules, convolutions by conv1d
#     shifted    the same, a convolution as one product of three shifted copies, which is faster on some machines
#     compiled   torch.compile of the blocks of `eager`, where almost all of the time goes; blocks share their code, so
#                this is compiled once and not for each of them, which would take minutes
#
# Sequences are padded to the longest of their batch (the sampler has put similar lengths together) and masked. Padding
# is made when a batch is loaded and not timed, the averaged weights that ours keeps are left out: both in its favour.
#
# It prints "READY version", then answers the lines on its standard input, one line each:
#
#     CHECK n rate →  STEPS …         loss and norm of the gradient of n steps without dropout at this learning rate, from
#                                     the initial weights, on batches of epoch 0
#     ROUND e s    →  ROUND seconds align_seconds frames        of s steps on the batches of epoch e
#     QUIT
#
# or prints "SKIP reason" and ends.

import math
import os
import time

from torch_start import folder, mode, serve, tensors_read

import numpy
import torch
from torch.nn import functional


# ---- files ----

def pad(packed, ends):
    """Packed rows → [sequences, longest, …], zeros after each sequence."""
    parts = [packed[a:b] for a, b in zip(ends[:-1], ends[1:])]
    return torch.nn.utils.rnn.pad_sequence(parts, batch_first=True)


class Batch:
    def __init__(self, path):
        t, _ = tensors_read(path)
        token_ends, frame_ends, reference_ends = (t[name].tolist() for name in
                                                  ("token_offsets", "frame_offsets", "reference_offsets"))
        self.tokens, self.frames = token_ends[-1], frame_ends[-1]
        self.ids = pad(t["token_ids"].long(), token_ends)
        self.languages = t["languages"].long()
        self.mel, self.reference = pad(t["mel"], frame_ends), pad(t["reference_mel"], reference_ends)
        self.pitch, self.energy = pad(t["pitch"], frame_ends), pad(t["energy"], frame_ends)
        self.token_counts = t["token_offsets"].diff().long()
        self.frame_counts = t["frame_offsets"].diff().long()
        self.token_mask = self.mask_of(self.token_counts)
        self.frame_mask = self.mask_of(self.frame_counts)
        self.reference_mask = self.mask_of(t["reference_offsets"].diff().long())

    @staticmethod
    def mask_of(counts):
        return torch.arange(int(counts.max()))[None, :] < counts[:, None]


# ---- the model ----

class Conv(torch.nn.Module):
    """conv3 of MODEL.md: weights [3, in, out] there; rows outside of the sequence are 0, so the caller masks."""

    def __init__(self, weight, bias):
        super().__init__()
        if mode == "shifted":
            weight = weight.reshape(-1, weight.shape[2]).t()
        else:
            weight = weight.permute(2, 1, 0)
        self.weight = torch.nn.Parameter(weight.contiguous())
        self.bias = None if bias is None else torch.nn.Parameter(bias.clone())

    def forward(self, x):
        if mode == "shifted":
            wide = functional.pad(x, (0, 0, 1, 1))
            return functional.linear(torch.cat((wide[:, :-2], x, wide[:, 2:]), 2), self.weight, self.bias)
        # Contiguous: the activation's backward pass is ten times slower on a transposed view.
        return functional.conv1d(x.transpose(1, 2), self.weight, self.bias, padding=1).transpose(1, 2).contiguous()


def linear(p, name, bias=True):
    weight = p[name + ".weight"]
    layer = torch.nn.Linear(weight.shape[0], weight.shape[1], bias=bias)
    layer.weight.data = weight.t().contiguous()
    if bias:
        layer.bias.data = p[name + ".bias"].clone()
    return layer


def norm(p, name):
    layer = torch.nn.LayerNorm(p[name + ".weight"].shape[0], eps=1e-5)
    layer.weight.data, layer.bias.data = p[name + ".weight"].clone(), p[name + ".bias"].clone()
    return layer


def gelu(x):
    return functional.gelu(x, approximate="tanh")


class Block(torch.nn.Module):
    def __init__(self, p, name, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = norm(p, name + ".norm1"), norm(p, name + ".norm2")
        self.qkv, self.out = linear(p, name + ".attention.qkv"), linear(p, name + ".attention.out")
        self.up = Conv(p[name + ".feed_forward.up.weight"], p[name + ".feed_forward.up.bias"])
        self.down = linear(p, name + ".feed_forward.down")

    def turn(self, x, cosine, sine):
        a, b = x.chunk(2, -1)
        return torch.cat((a * cosine - b * sine, a * sine + b * cosine), -1)

    def forward(self, x, mask, rows, cosine, sine, rate):
        count, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(count, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        a = functional.scaled_dot_product_attention(self.turn(q, cosine, sine), self.turn(k, cosine, sine), v, mask)
        m = x + functional.dropout(self.out(a.transpose(1, 2).reshape(count, length, width)), rate)
        return m + functional.dropout(self.down(gelu(self.up(self.norm2(m) * rows))), rate)


class Stack(torch.nn.Module):
    def __init__(self, p, name, blocks, heads):
        super().__init__()
        self.blocks = torch.nn.ModuleList(Block(p, "%s.block.%d" % (name, i), heads) for i in range(blocks))
        self.norm = norm(p, name + ".norm")
        self.half = self.norm.weight.shape[0] // heads // 2

    def forward(self, x, mask, rate):
        angle = torch.arange(x.shape[1])[:, None] * 10000.0 ** (-torch.arange(self.half) / self.half)[None, :]
        cosine, sine = angle.cos(), angle.sin()
        rows = mask[:, :, None].to(x.dtype)
        for block in self.blocks:
            x = block(x, mask[:, None, None, :], rows, cosine, sine, rate)
        return self.norm(x)


class Predictor(torch.nn.Module):
    def __init__(self, p, name):
        super().__init__()
        self.convs = torch.nn.ModuleList(Conv(p["%s.conv%d.weight" % (name, i)], p["%s.conv%d.bias" % (name, i)])
                                         for i in (1, 2))
        self.norms = torch.nn.ModuleList(norm(p, "%s.norm%d" % (name, i)) for i in (1, 2))
        self.out = linear(p, name + ".out")

    def forward(self, x, rows, rate):
        for conv, layer in zip(self.convs, self.norms):
            x = functional.dropout(layer(functional.relu(conv(x * rows))), rate)
        return self.out(x).squeeze(2)


class Speaker(torch.nn.Module):
    def __init__(self, p):
        super().__init__()
        self.convs = torch.nn.ModuleList(Conv(p["speaker.conv%d.weight" % i], p["speaker.conv%d.bias" % i])
                                         for i in (1, 2, 3))
        self.norms = torch.nn.ModuleList(norm(p, "speaker.norm%d" % i) for i in (1, 2, 3))
        self.score = linear(p, "speaker.score", bias=False)

    def forward(self, x, mask):
        rows = mask[:, :, None].to(x.dtype)
        for conv, layer in zip(self.convs, self.norms):
            x = layer(gelu(conv(x * rows)))
        share = self.score(x).squeeze(2).masked_fill(~mask, -math.inf).softmax(1)
        return torch.einsum("sr,srw->sw", share, x)


class Text(torch.nn.Module):
    """Speaker and text encoder with what stands on the states: everything before the alignment."""

    def __init__(self, p, settings):
        super().__init__()
        self.speaker = Speaker(p)
        self.token = torch.nn.Parameter(p["encoder.token.weight"].clone())
        self.language = torch.nn.Parameter(p["encoder.language.weight"].clone())
        self.to_encoder = linear(p, "speaker.to_encoder", bias=False)
        self.to_decoder = linear(p, "speaker.to_decoder", bias=False)
        self.stack = Stack(p, "encoder", int(settings["encoder_blocks"]), int(settings["heads"]))
        self.mean = linear(p, "encoder.mean")
        self.predictors = torch.nn.ModuleList(Predictor(p, "predictor." + name)
                                              for name in ("duration", "pitch", "energy"))
        self.root = math.sqrt(self.token.shape[1])

    def forward(self, ids, languages, mask, reference, reference_mask, rate):
        vector = self.speaker(reference, reference_mask)
        rows = mask[:, :, None].to(vector.dtype)
        row = self.language[languages] + self.to_encoder(vector)
        x = self.root * functional.embedding(ids, self.token) + row[:, None, :]
        states = self.stack(x, mask, rate)
        inputs = (states.detach(), states, states)
        predicted = [predictor(x, rows, rate) for predictor, x in zip(self.predictors, inputs)]
        return states, self.mean(states), predicted, self.to_decoder(vector)


class Sound(torch.nn.Module):
    """Everything after the alignment."""

    def __init__(self, p, settings):
        super().__init__()
        self.pitch, self.energy = Conv(p["encoder.pitch.weight"], None), Conv(p["encoder.energy.weight"], None)
        self.stack = Stack(p, "decoder", int(settings["decoder_blocks"]), int(settings["heads"]))
        self.mel = linear(p, "decoder.mel")

    def forward(self, states, row, pitch, energy, token_of, mask, rate):
        tokens = states + self.pitch(pitch[:, :, None]) + self.energy(energy[:, :, None])
        x = tokens.gather(1, token_of[:, :, None].expand(-1, -1, tokens.shape[2])) + row[:, None, :]
        return self.mel(self.stack(x, mask, rate))


def align(means, batch, diagonal):
    """The token of each frame [S, F]: dynamic programming over the frames, for all sequences and tokens at once."""
    with torch.no_grad():
        half = (means * means).sum(2) / 2
        score = torch.bmm(batch.mel, means.transpose(1, 2)) - half[:, None, :]
        tokens, frames = batch.token_counts[:, None, None], batch.frame_counts[:, None, None]
        f = torch.arange(batch.mel.shape[1], dtype=torch.float64)[None, :, None] + 0.5
        t = torch.arange(means.shape[1], dtype=torch.float64)[None, None, :] + 0.5
        score = (score.double() - diagonal * (f * tokens / frames - t) ** 2).transpose(0, 1).numpy()
    count, sequences, length = score.shape
    best = numpy.full((sequences, length + 1), -numpy.inf)  # one column before the first token
    best[:, 1] = score[0, :, 0]
    moved = numpy.zeros((count, sequences, length), bool)
    for i in range(1, count):
        numpy.greater(best[:, :-1], best[:, 1:], out=moved[i])
        best[:, 1:] = numpy.maximum(best[:, :-1], best[:, 1:]) + score[i]
    at, every = batch.token_counts.numpy() - 1, numpy.arange(sequences)
    last = batch.frame_counts.numpy() - 1
    token_of = numpy.zeros((count, sequences), numpy.int64)
    for i in range(count - 1, -1, -1):
        token_of[i] = at
        at = at - (moved[i, every, at] & (i <= last))
    return torch.from_numpy(token_of.T.copy())


def means_over(values, token_of, durations, mask):
    """Means of [S, F] over the frames of each token; 0 for a token without any."""
    sums = torch.zeros(durations.shape).scatter_add_(1, token_of, values * mask)
    return sums / durations.clamp(min=1)


class Model:
    def __init__(self, path):
        p, self.settings = tensors_read(path)
        self.text, self.sound = Text(p, self.settings), Sound(p, self.settings)
        # Decayed are products and convolutions, not the two tables.
        tables = {id(self.text.token), id(self.text.language)}
        parameters = [*self.text.parameters(), *self.sound.parameters()]
        self.parameters = parameters
        decayed = [x for x in parameters if x.dim() > 1 and id(x) not in tables]
        others = [x for x in parameters if x.dim() == 1 or id(x) in tables]
        number = {key: float(self.settings[key]) for key in ("rate", "beta1", "beta2", "epsilon", "weight_decay")}
        self.optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": number["weight_decay"]},
                                            {"params": others, "weight_decay": 0.0}], lr=number["rate"],
                                           betas=(number["beta1"], number["beta2"]), eps=number["epsilon"], fused=True)
        if mode == "compiled":
            for block in [*self.text.stack.blocks, *self.sound.stack.blocks]:
                block.compile(dynamic=True)

    def step(self, batch, rate):
        """Returns the sum of the losses, the norm of the gradient and the seconds of the alignment."""
        states, means, predicted, row = self.text(batch.ids, batch.languages, batch.token_mask, batch.reference,
                                                  batch.reference_mask, rate)
        begin = time.perf_counter()
        token_of = align(means, batch, float(self.settings["diagonal"]))
        seconds = time.perf_counter() - begin
        rows, columns = batch.token_mask.float(), batch.frame_mask.float()
        durations = torch.zeros(rows.shape).scatter_add_(1, token_of, columns)
        targets = (torch.log1p(durations), means_over(batch.pitch, token_of, durations, columns),
                   means_over(batch.energy, token_of, durations, columns))
        mel = self.sound(states, row, targets[1] * rows, targets[2] * rows, token_of, batch.frame_mask, rate)
        spread = means.gather(1, token_of[:, :, None].expand(-1, -1, means.shape[2]))
        values = batch.frames * batch.mel.shape[2]
        loss = ((mel - batch.mel).abs() * columns[:, :, None]).sum() / values
        loss = loss + ((spread - batch.mel).square() * columns[:, :, None]).sum() / (2 * values)
        for guess, target in zip(predicted, targets):
            loss = loss + ((guess - target).square() * rows).sum() / batch.tokens
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self.parameters, float(self.settings["grad_clip"]), foreach=True)
        self.optimizer.step()
        return loss.item(), norm.item(), seconds


# ---- talking ----

def batches_of(epoch, count):
    return [Batch(os.path.join(folder, "batch-%d-%d.safetensors" % (epoch, step))) for step in range(count)]


def answer(model, words):
    if words[0] == "CHECK":
        fresh = Model(os.path.join(folder, "weights.safetensors"))
        for group in fresh.optimizer.param_groups:
            group["lr"] = float(words[2])
        steps = [fresh.step(batch, 0.0) for batch in batches_of(0, int(words[1]))]
        return "STEPS " + " ".join("%.9g %.9g" % step[:2] for step in steps)
    batches = batches_of(int(words[1]), int(words[2]))
    rate = float(model.settings["dropout"])
    align_seconds, begin = 0.0, time.perf_counter()
    for batch in batches:
        align_seconds += model.step(batch, rate)[2]
    seconds = time.perf_counter() - begin
    return "ROUND %.9f %.9f %d" % (seconds, align_seconds, sum(batch.frames for batch in batches))


serve(lambda: Model(os.path.join(folder, "weights.safetensors")), answer)
