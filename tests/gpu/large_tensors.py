"""More than 2^31 elements, through the C API, against torch. usage: python3 tests/gpu/large_tensors.py LIBRARY"""
import os
import sys

import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))
import kaon_ctypes

kaon = kaon_ctypes.Kaon(sys.argv[1])


def run(name, inputs, rows_per_part, reference):
    out = torch.full_like(inputs[0], float("nan"))
    match = kaon.bind(name, inputs, [out])()
    torch.cuda.synchronize()
    for begin in range(0, out.shape[0], rows_per_part):
        part = slice(begin, begin + rows_per_part)
        expected = reference(*(x[part].float() for x in inputs))
        error = (out[part].float() - expected).abs().max().item()
        if not error <= 2e-3:
            sys.exit(f"{name} {tuple(out.shape)}: error {error} at rows {begin} and on")
    print(f"{name} {tuple(out.shape)}, {out.numel()} elements: right ({match})")


vector = torch.randn(2**31 + 12345, device="cuda", dtype=torch.float16)
run("vector_add", [vector, vector.flip(0)], 1 << 27, lambda a, b: (a + b).half().float())
del vector
run("softmax", [torch.randn(70000, 32768, device="cuda", dtype=torch.float16)], 4096, lambda x: torch.softmax(x, 1))
run("softmax", [torch.randn(200000, 11003, device="cuda", dtype=torch.float16)], 8192, lambda x: torch.softmax(x, 1))
