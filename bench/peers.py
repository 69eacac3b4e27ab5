"""Times Kaon's pretuned kernels beside PyTorch, torch.compile, Helion and a copy kernel, all in one process and one run.

usage: python3 bench/peers.py --lib build/.../libkaon_bench.so --kernel rms_norm [--shapes 2048x4096,16384x8192] \\
           [--dtypes f16,bf16] [--compile] [--helion DIR] [--out FILE]
       python3 bench/peers.py --list

Needs a GPU, torch and cupy (--list and --help need none of them); Kaon joins through its C API. Method: 256 MB of L2
cleared before every sample, one call captured in a CUDA graph, replayed between two events, candidates rotated within each
repetition, median. The copy kernel moves the same bytes, 16 a thread, with streaming hints. Every Kaon result is checked
against torch in float64 first.
"""
import argparse
import importlib.util
import json
import statistics
import sys
import time

import peer_shapes

if "--list" not in sys.argv and "-h" not in sys.argv and "--help" not in sys.argv:
    import cupy
    import numpy
    import torch

    import kaon_ctypes
    import peer_kernels

# Relative error in the 2-norm that a correctly rounded result of the dtype stays far below.
TOLERANCE = {"f16": 1e-3, "bf16": 8e-3, "f32": 1e-5, "f8": 4e-2}

COPY_SOURCE = r"""
extern "C" __global__ void copy16(const uint4* from, uint4* to, long long count) {
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < count) __stcs(to + i, __ldcs(from + i));
}
extern "C" __global__ void nothing() {}
"""


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


def outputs_of(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


def tolerance(output, dtype_name):
    return TOLERANCE["f8" if output.element_size() == 1 else dtype_name]


def check(what, case, dtype_name):
    """The largest relative error of Kaon's outputs against torch in float64, by blocks of rows to bound memory where the
    kernel's rows stand for themselves."""
    exact = case.exact or case.torch
    rows = case.outputs[0].shape[0]
    per_row = max(1, max(t.numel() for t in case.inputs) // max(1, rows))
    step = max(1, (1 << 26) // per_row) if case.sliced else rows
    difference, norm = [0.0] * len(case.outputs), [0.0] * len(case.outputs)
    for begin in range(0, rows, step):
        part = slice(begin, begin + step)
        inputs = [x[part] if i in case.sliced else x for i, x in enumerate(case.inputs)]
        expected = outputs_of(exact(*(x.double() if x.is_floating_point() else x for x in inputs)))
        for i, (output, want) in enumerate(zip(case.outputs, expected)):
            got = (output[part] if case.sliced else output).double()
            difference[i] += (got - want).norm().item() ** 2
            norm[i] += want.norm().item() ** 2
    worst = 0.0
    for output, d, n in zip(case.outputs, difference, norm):
        error = (d / n) ** 0.5 if n > 0 else d ** 0.5
        if not error < tolerance(output, dtype_name):
            sys.exit(f"{what}: relative error {error:.2e}, expected below {tolerance(output, dtype_name):.0e}")
        worst = max(worst, error)
    return worst


def helion_kernel(root, kernel):
    module_name, name = peer_shapes.HELION_NAMES.get(kernel, (kernel, kernel))
    sys.path[:0] = [root, f"{root}/pretuned_kernels"]
    spec = importlib.util.spec_from_file_location(f"_peer_{module_name}", f"{root}/pretuned_kernels/{module_name}/{module_name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return getattr(module, name)


def measure_row(args, kaon, copies, text, dtype_name):
    shape, lengths = peer_shapes.parse(args.kernel, text)
    case = peer_kernels.BUILDERS[args.kernel](shape, peer_kernels.DTYPES[dtype_name], lengths)
    for output in case.outputs:
        output.view(torch.uint8).fill_(0xff)  # NaN in every type
    call = kaon.bind(args.kernel, case.inputs, case.outputs, case.scalars)
    match = call()
    torch.cuda.synchronize()
    error = check(f"{args.kernel} {text} {dtype_name}", case, dtype_name)
    moved = case.moved_bytes or sum(t.numel() * t.element_size() for t in case.inputs + case.outputs)
    calls = {"kaon": call, "copy": copies.of_bytes(moved), "torch": lambda: case.torch(*case.inputs), "empty": copies.empty}
    if args.compile:
        torch._dynamo.reset()
        compiled = torch.compile(case.torch, dynamic=False)
        calls["torch_compile"] = lambda: compiled(*case.inputs)
    if args.helion and case.helion and dtype_name in peer_shapes.HELION_DTYPES.get(args.kernel, ()):
        calls["helion"] = case.helion(helion_kernel(args.helion, args.kernel))
    times = measure(calls, args.reps)
    row = {"dtype": dtype_name, "shape": list(shape)}
    if lengths:
        row["lengths"] = lengths
    row["bytes"] = moved
    row.update({f"{name}_us": round(us, 2) for name, us in times.items() if name != "empty"})
    row["variant"], row["relative_error"] = match, float(f"{error:.2e}")
    print(json.dumps(row), flush=True)
    return row, times["empty"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print the kernels with their dims, dtypes and default shapes")
    parser.add_argument("--lib", help="shared library with Kaon's C API and the pretuned tables")
    parser.add_argument("--kernel", choices=sorted(peer_shapes.KERNELS))
    parser.add_argument("--shapes", help="comma-separated: 4096x1024,2048x32768; 512x128x256:power for jagged kernels")
    parser.add_argument("--dtypes", help="comma-separated: f16,bf16,f32")
    parser.add_argument("--reps", type=int, default=40)
    parser.add_argument("--compile", action="store_true", help="also time torch.compile")
    parser.add_argument("--helion", help="folder of a Helion checkout: also time its shipped kernel")
    parser.add_argument("--out", help="write the rows here as JSON")
    args = parser.parse_args()
    if args.list:
        return print(peer_shapes.listing())
    if not args.lib or not args.kernel:
        parser.error("--lib and --kernel are needed to measure")
    _, dtypes, shapes = peer_shapes.KERNELS[args.kernel]
    dtypes = args.dtypes.split(",") if args.dtypes else dtypes.split()
    shapes = args.shapes.split(",") if args.shapes else shapes
    kaon, copies = kaon_ctypes.Kaon(args.lib), CopyKernel()
    rows, empties = [], []
    for dtype_name in dtypes:
        for text in shapes:
            row, empty = measure_row(args, kaon, copies, text, dtype_name)
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
