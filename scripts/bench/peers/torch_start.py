# SPDX-License-Identifier: GPL-3.0-or-later
#
# What the peers in PyTorch share: arguments, pinning, safetensors files, talking. They are called as
#
#     python PEER.py FOLDER CORES MODE
#
# with the folder of their files, the cores to use ("0,1": one thread each) and how the network is written. A peer prints
# "READY version", then answers the lines on its standard input, one line each, until "QUIT"; or it prints "SKIP reason"
# and ends.

import json
import os
import sys

folder, cores, mode = sys.argv[1], [int(core) for core in sys.argv[2].split(",")], sys.argv[3]
os.sched_setaffinity(0, set(cores))  # before any library counts the cores
for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = str(len(cores))
# In this process: helpers that spin at real-time priority would block each other.
os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(sys.prefix, "compiled")  # beside the packages, for the next run


def skip(reason):
    print("SKIP", " ".join(str(reason).split())[:200], flush=True)
    sys.exit(0)


try:
    import numpy
    import torch
except Exception as error:  # not installed
    skip(error)
torch.set_num_threads(len(cores))


def tensors_read(path):
    """Tensors and metadata of a safetensors file."""
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = file.read()
    metadata = header.pop("__metadata__", {})
    types = {"F32": numpy.float32, "I32": numpy.int32}
    return {name: torch.from_numpy(numpy.frombuffer(data[slice(*entry["data_offsets"])], types[entry["dtype"]])
                                   .reshape(entry["shape"]).copy())
            for name, entry in header.items()}, metadata


def serve(model_make, answer):
    """Answers with answer(model, words) until there are no more lines."""
    try:
        torch.manual_seed(1)
        model = model_make()
        print("READY", torch.__version__, flush=True)
        for line in sys.stdin:
            if line.split()[0] == "QUIT":
                break
            print(answer(model, line.split()), flush=True)
    except Exception as error:  # a build of PyTorch that lacks something: the bench goes on without it
        skip(error)
