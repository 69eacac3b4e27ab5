"""Times Kaon's pretuned kernels beside PyTorch, torch.compile, Helion and a copy kernel, all in one process and one run.

usage: python3 bench/peers.py --lib build/.../libkaon_bench.so --kernel softmax --shapes 4096x1024,4096x12544 \
           --dtypes f16,bf16 [--compile] [--helion DIR] [--out FILE]

Needs a GPU, torch and cupy; Kaon joins through its C API. Method: 256 MB of L2 cleared before every sample, one call
captured in a CUDA graph, replayed between two events, candidates rotated within each repetition, median. The copy kernel
moves the same bytes, 16 a thread, with streaming hints. Every Kaon result is checked against torch in float64 first.
"""
import argparse
import ctypes
import importlib.util
import json
import statistics
import sys
import time

import cupy
import numpy
import torch
import torch.nn.functional as F

import kaon_ctypes

DTYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}

COPY_SOURCE = r"""
extern "C" __global__ void copy16(const uint4* from, uint4* to, long long count) {
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < count) __stcs(to + i, __ldcs(from + i));
}
extern "C" __global__ void nothing() {}
"""


def softmax(shape, dtype):
    x = torch.randn(shape, device="cuda", dtype=dtype) * 3
    return [x], [torch.empty_like(x)], lambda x: F.softmax(x, dim=1)


def vector_add(shape, dtype):
    x, y = (torch.randn(shape, device="cuda", dtype=dtype) for _ in range(2))
    return [x, y], [torch.empty_like(x)], torch.add


KERNELS = {"softmax": softmax, "vector_add": vector_add}
# Helion ships sm90 tuning for these dtypes of these kernels.
HELION_DTYPES = {"softmax": ("f16",), "vector_add": ("f32",)}
# Relative error in the 2-norm that a correctly rounded result of the dtype stays far below.
TOLERANCE = {"f16": 1e-3, "bf16": 8e-3, "f32": 1e-5}


def capture(call):
    """A function that replays `call` as a CUDA graph."""
    stream = torch.cuda.Stream()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
        stream.synchronize()
        with torch.cuda.graph(graph, stream=stream):
            call()
    return graph.replay


def measure(calls, repetitions):
    """Median microseconds of each named call: cold L2, rotated."""
    flush = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")
    replays = {name: capture(call) for name, call in calls.items()}
    samples = {name: [] for name in calls}
    order = list(calls)
    for repetition in range(repetitions):
        turn = repetition % len(order)
        for name in order[turn:] + order[:turn]:
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            flush.zero_()
            start.record()
            replays[name]()
            end.record()
            samples[name].append((start, end))
    torch.cuda.synchronize()
    return {name: statistics.median(a.elapsed_time(b) for a, b in pairs) * 1e3 for name, pairs in samples.items()}


class CopyKernel:
    def __init__(self):
        module = cupy.RawModule(code=COPY_SOURCE)
        self.copy, self.nothing = module.get_function("copy16"), module.get_function("nothing")

    @staticmethod
    def on_current_stream():
        return cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream)

    def of_bytes(self, total):
        """A call that reads and writes `total` bytes together."""
        count = max(1, total // 32)
        source, target = (torch.empty(count * 16, dtype=torch.uint8, device="cuda") for _ in range(2))

        def call():
            with self.on_current_stream():
                self.copy(((count + 255) // 256,), (256,), (source.data_ptr(), target.data_ptr(), numpy.int64(count)))
        return call

    def empty(self):
        with self.on_current_stream():
            self.nothing((1,), (32,), ())


def check(name, shape, dtype_name, inputs, outputs, reference):
    """Relative error of Kaon's result against torch in float64, by blocks of rows to bound memory."""
    difference = norm = 0.0
    step = max(1, (1 << 26) // max(1, inputs[0][0].numel() if inputs[0].dim() > 1 else 1))
    for begin in range(0, shape[0], step):
        part = slice(begin, begin + step)
        expected = reference(*(x[part].double() for x in inputs))
        difference += (outputs[0][part].double() - expected).norm().item() ** 2
        norm += expected.norm().item() ** 2
    error = (difference / norm) ** 0.5
    if not error < TOLERANCE[dtype_name]:
        sys.exit(f"{name} {shape} {dtype_name}: relative error {error:.2e}, expected below {TOLERANCE[dtype_name]:.0e}")
    return error


def helion_kernel(root, name):
    sys.path[:0] = [root, f"{root}/pretuned_kernels"]
    spec = importlib.util.spec_from_file_location(f"_peer_{name}", f"{root}/pretuned_kernels/{name}/{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return getattr(module, name)


def measure_row(args, kaon, copies, shape, dtype_name):
    inputs, outputs, reference = KERNELS[args.kernel](shape, DTYPES[dtype_name])
    for output in outputs:
        output.fill_(float("nan"))
    call = kaon.bind(args.kernel, inputs, outputs)
    match = call()
    torch.cuda.synchronize()
    error = check(args.kernel, shape, dtype_name, inputs, outputs, reference)
    total = sum(t.numel() * t.element_size() for t in inputs + outputs)
    calls = {"kaon": call, "copy": copies.of_bytes(total), "torch": lambda: reference(*inputs), "empty": copies.empty}
    if args.compile:
        torch._dynamo.reset()
        compiled = torch.compile(reference, dynamic=False)
        calls["torch_compile"] = lambda: compiled(*inputs)
    if args.helion and dtype_name in HELION_DTYPES[args.kernel]:
        peer = helion_kernel(args.helion, args.kernel)
        calls["helion"] = lambda: peer(*inputs)
    times = measure(calls, args.reps)
    row = {"dtype": dtype_name, "shape": list(shape)}
    row.update({f"{name}_us": round(us, 2) for name, us in times.items() if name != "empty"})
    row["variant"], row["relative_error"] = match, float(f"{error:.2e}")
    print(json.dumps(row), flush=True)
    return row, times["empty"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lib", required=True, help="shared library with Kaon's C API and the pretuned tables")
    parser.add_argument("--kernel", required=True, choices=sorted(KERNELS))
    parser.add_argument("--shapes", required=True, help="comma-separated: 4096x1024,2048x32768")
    parser.add_argument("--dtypes", default="f16")
    parser.add_argument("--reps", type=int, default=40)
    parser.add_argument("--compile", action="store_true", help="also time torch.compile")
    parser.add_argument("--helion", help="folder of a Helion checkout: also time its shipped kernel")
    parser.add_argument("--out", help="write the rows here as JSON")
    args = parser.parse_args()
    kaon, copies = kaon_ctypes.Kaon(args.lib), CopyKernel()
    rows, empties = [], []
    for dtype_name in args.dtypes.split(","):
        for text in args.shapes.split(","):
            row, empty = measure_row(args, kaon, copies, tuple(int(v) for v in text.split("x")), dtype_name)
            rows.append(row)
            empties.append(empty)
            torch.cuda.empty_cache()
    if args.out:
        result = {"device": torch.cuda.get_device_name(), "driver": kaon_ctypes.driver_version(),
                  "date": time.strftime("%Y-%m-%d"),
                  "method": "cold L2 (256 MB cleared), CUDA graph, rotated, median of %d" % args.reps,
                  "empty_graph_us": round(statistics.median(empties), 2), "rows": rows}
        with open(args.out, "w") as file:
            json.dump(result, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
