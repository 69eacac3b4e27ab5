"""The inputs of each kernel, how it is called, and what PyTorch makes of them."""
import dataclasses
from typing import Callable

import torch
import torch.nn.functional as F

DTYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}
FP8 = torch.float8_e4m3fn
EPS = 1e-5


@dataclasses.dataclass
class Case:
    """One call. `torch` computes what Kaon does from the inputs, in their dtypes for timing and in f64 for checking."""
    inputs: list
    outputs: list
    torch: Callable
    scalars: list = dataclasses.field(default_factory=list)
    helion: Callable | None = None  # takes Helion's kernel, gives a call of it
    sliced: tuple = ()              # inputs whose rows go with the outputs' rows: what is checked by parts
    exact: Callable | None = None   # instead of `torch` for checking, where dtypes matter
    moved_bytes: int | None = None  # read and written; default every input and output once


def normal(*shape, dtype):
    return torch.randn(shape, device="cuda", dtype=dtype)


def empty(*shape, dtype):
    return torch.empty(shape, device="cuda", dtype=dtype)


def offsets_of(items, mean, lengths):
    """Prefix sums of `items` row counts of the given kind: items * mean rows in all."""
    weights = torch.ones(items, dtype=torch.float64)
    if lengths == "uniform":
        weights = torch.rand(items, dtype=torch.float64)
    elif lengths == "power":
        weights = (1 / torch.arange(1, items + 1, dtype=torch.float64))[torch.randperm(items)]
    elif lengths == "giant":
        weights[items // 2] = items - 1
    elif lengths == "half":
        weights[::2] = 0
    ends = (weights.cumsum(0) / weights.sum() * items * mean).floor().long()
    ends[-1] = items * mean
    return torch.cat((torch.zeros(1, dtype=torch.int64), ends)).cuda()


def item_of_row(offsets, rows):
    return torch.repeat_interleave(torch.arange(len(offsets) - 1, device="cuda"), offsets.diff(), output_size=rows)


def softmax(shape, dtype, _):
    x = normal(*shape, dtype=dtype) * 3
    return Case([x], [torch.empty_like(x)], lambda x: F.softmax(x, dim=1), helion=lambda k: lambda: k(x), sliced=(0,))


def vector_add(shape, dtype, _):
    x, y = normal(*shape, dtype=dtype), normal(*shape, dtype=dtype)
    return Case([x, y], [torch.empty_like(x)], torch.add, helion=lambda k: lambda: k(x, y), sliced=(0, 1))


def rms_norm(shape, dtype, _):
    x, weight = normal(*shape, dtype=dtype), normal(shape[1], dtype=dtype)
    return Case([x, weight], [torch.empty_like(x)], lambda x, w: F.rms_norm(x, w.shape, w, EPS), [EPS],
                helion=lambda k: lambda: k(x, weight), sliced=(0,))


def layer_norm(shape, dtype, _):
    x, weight, bias = normal(*shape, dtype=dtype), normal(shape[1], dtype=dtype), normal(shape[1], dtype=dtype)
    return Case([x, weight, bias], [torch.empty_like(x)], lambda x, w, b: F.layer_norm(x, w.shape, w, b, EPS), [EPS],
                helion=lambda k: lambda: k(x, weight, bias), sliced=(0,))


def layer_norm_residual(shape, dtype, _):
    x, residual, weight, bias = *(normal(*shape, dtype=dtype) for _ in range(2)), *(normal(shape[1], dtype=dtype) for _ in range(2))

    def reference(x, residual, w, b):
        added = x + residual
        return F.layer_norm(added, w.shape, w, b, EPS), added
    return Case([x, residual, weight, bias], [torch.empty_like(x) for _ in range(2)], reference, [EPS], sliced=(0, 1))


def fused_add_rms_norm(shape, dtype, _):
    x, residual, weight = *(normal(*shape, dtype=dtype) for _ in range(2)), normal(shape[1], dtype=dtype)

    def reference(x, residual, w):
        added = x + residual
        return F.rms_norm(added, w.shape, w, EPS), added
    return Case([x, residual, weight], [torch.empty_like(x) for _ in range(2)], reference, [EPS], sliced=(0, 1))


def cross_entropy(shape, dtype, _):
    logits, labels = normal(*shape, dtype=dtype), torch.randint(0, shape[1], (shape[0],), device="cuda")
    return Case([logits, labels], [empty(shape[0], dtype=torch.float32)], lambda x, y: F.cross_entropy(x, y, reduction="none"),
                [-100, 0.0], helion=lambda k: lambda: k(logits, labels), sliced=(0, 1))


def _heads(shape, dtype):
    b, s, q_heads, k_heads, d = shape
    q, k = normal(b, s, q_heads, d, dtype=dtype), normal(b, s, k_heads, d, dtype=dtype)
    angles = normal(s, d // 2, dtype=torch.float32)
    return q, k, angles.cos().to(dtype), angles.sin().to(dtype)


def rope(shape, dtype, _):
    q, k, cos, sin = _heads(shape, dtype)

    def rotated(x, cos, sin):
        low, high = x.chunk(2, dim=-1)
        cos, sin = cos[None, :, None, :], sin[None, :, None, :]
        return torch.cat((low * cos - high * sin, high * cos + low * sin), dim=-1)

    def helion(kernel):  # [B, heads, S, D], and whole rows of angles
        turned = [x.transpose(1, 2).contiguous() for x in (q, k)] + [torch.cat((x, x), dim=-1)[None] for x in (cos, sin)]
        return lambda: kernel(*turned)
    return Case([q, k, cos, sin], [torch.empty_like(q), torch.empty_like(k)],
                lambda q, k, cos, sin: (rotated(q, cos, sin), rotated(k, cos, sin)), [1.0], helion=helion)


def rope_interleaved(shape, dtype, _):
    q, k, cos, sin = _heads(shape, dtype)
    q, k = (x.unflatten(-1, (-1, 2)) for x in (q, k))

    def rotated(x, cos, sin):
        a, b = x.unbind(-1)
        cos, sin = cos[None, :, None, :], sin[None, :, None, :]
        return torch.stack((a * cos - b * sin, b * cos + a * sin), dim=-1)
    return Case([q, k, cos, sin], [torch.empty_like(q), torch.empty_like(k)],
                lambda q, k, cos, sin: (rotated(q, cos, sin), rotated(k, cos, sin)), [1.0])


def long_sum(shape, dtype, _):
    x = normal(*shape, dtype=dtype)
    return Case([x], [empty(shape[0], dtype=dtype)], lambda x: x.sum(-1), sliced=(0,))


def silu_mul_fp8(shape, dtype, _):
    m, h = shape
    x, scale = normal(m, 2, h, dtype=dtype), torch.full((1,), 0.5, device="cuda")

    def values(x, scale):
        gate, up = x.unbind(1)
        return (F.silu(gate) * up / scale).clamp(-448, 448)
    return Case([x, scale], [empty(m, h, dtype=FP8)], lambda x, scale: values(x.float(), scale).to(FP8), exact=values,
                helion=lambda k: lambda: k(x.view(m, 2 * h), scale), sliced=(0,))


def dynamic_per_token_fp8_quant(shape, dtype, _):
    x = normal(*shape, dtype=dtype)

    def values(x):
        scale = (x.abs().amax(1) / 448).clamp(min=1 / (448 * 512))
        return (x / scale[:, None]).clamp(-448, 448), scale

    def reference(x):
        out, scale = values(x.float())
        return out.to(FP8), scale

    def helion(kernel):
        result, scale = empty(*shape, dtype=FP8), empty(shape[0], 1, dtype=torch.float32)
        return lambda: kernel(result, x, scale)
    return Case([x], [empty(*shape, dtype=FP8), empty(shape[0], dtype=torch.float32)], reference, [float("inf")], exact=values,
                helion=helion, sliced=(0,))


def bias_with_slice(shape, dtype, _):
    b, n, m, s = shape
    y, bias = normal(b, n, m, dtype=dtype), normal(n, dtype=dtype)

    def reference(y, bias):
        full = y + bias[:, None]
        return full, full[:, :s].contiguous()
    return Case([y, bias], [torch.empty_like(y), empty(b, s, m, dtype=dtype)], reference, sliced=(0,))


def segmented_reduction(shape, dtype, _):
    e, f, s = shape
    ids = torch.randint(0, s, (e,), device="cuda").sort().values
    x = normal(e, f, dtype=dtype)
    return Case([ids, x], [empty(s, f, dtype=dtype)],
                lambda ids, x: torch.zeros(s, f, device="cuda", dtype=x.dtype).index_add_(0, ids, x), [0])


def _items(shape, dtype, lengths):
    b, f, mean = shape
    offsets = offsets_of(b, mean, lengths)
    x = normal(b * mean, f, dtype=dtype)
    return x, offsets, item_of_row(offsets, b * mean)


def jagged_sum(shape, dtype, lengths):
    x, offsets, item = _items(shape, dtype, lengths)
    b, f, _ = shape
    return Case([x, offsets], [empty(b, f, dtype=dtype)],
                lambda x, _: torch.zeros(b, f, device="cuda", dtype=x.dtype).index_add_(0, item, x))


def jagged_mean(shape, dtype, lengths):
    x, offsets, item = _items(shape, dtype, lengths)
    b, f, _ = shape
    features = torch.randint(0, f + 1, (b,), device="cuda", dtype=torch.int32)
    inside = torch.arange(f, device="cuda")[None, :] < features[:, None]

    def reference(x, offsets, _):
        total = torch.zeros(b, f, device="cuda", dtype=x.dtype).index_add_(0, item, x)
        return torch.where(inside, total / offsets.diff().clamp(min=1)[:, None], 0)
    # Rows are read as far as their item's features go.
    read = int((offsets.diff() * features).sum()) * x.element_size()
    case = Case([x, offsets, features], [empty(b, f, dtype=dtype)], reference)
    case.moved_bytes = read + sum(t.numel() * t.element_size() for t in (offsets, features, case.outputs[0]))
    return case


def jagged_softmax(shape, dtype, lengths):
    x, offsets, item = _items(shape, dtype, lengths)
    b, f, _ = shape

    def reference(x, _):
        rows = item[:, None].expand_as(x)
        top = torch.full((b, f), -torch.inf, device="cuda", dtype=x.dtype).scatter_reduce_(0, rows, x, "amax")
        e = torch.exp(x - top[item])
        return e / torch.zeros(b, f, device="cuda", dtype=x.dtype).index_add_(0, item, e)[item]
    return Case([x, offsets], [torch.empty_like(x)], reference)


def jagged_layer_norm(shape, dtype, lengths):
    x, offsets, item = _items(shape, dtype, lengths)
    b, f, _ = shape

    def reference(x, offsets):
        count = (offsets.diff() * f).clamp(min=1).to(x.dtype)
        mean = torch.zeros(b, device="cuda", dtype=x.dtype).index_add_(0, item, x.sum(1)) / count
        centered = x - mean[item][:, None]
        variance = torch.zeros(b, device="cuda", dtype=x.dtype).index_add_(0, item, (centered * centered).sum(1)) / count
        return centered * torch.rsqrt(variance + EPS)[item][:, None]
    return Case([x, offsets], [torch.empty_like(x)], reference, [EPS])


def jagged_dense_add(shape, dtype, lengths):
    b, n, mean = shape
    offsets = offsets_of(b, mean, lengths)
    x, dense = normal(b * mean, dtype=dtype), normal(b, n, dtype=dtype)
    item = item_of_row(offsets, b * mean)
    column = torch.arange(b * mean, device="cuda") - offsets[item]
    kept = column < n
    places = item[kept] * n + column[kept]

    def reference(x, _, dense):
        return dense.clone().view(-1).index_add_(0, places, x[kept]).view(b, n)
    case = Case([x, offsets, dense], [torch.empty_like(dense)], reference)
    case.moved_bytes = int(kept.sum()) * x.element_size() + sum(t.numel() * t.element_size() for t in (offsets, dense, dense))
    return case


BUILDERS = {build.__name__: build for build in (
    bias_with_slice, cross_entropy, dynamic_per_token_fp8_quant, fused_add_rms_norm, jagged_dense_add, jagged_layer_norm, jagged_mean,
    jagged_softmax, jagged_sum, layer_norm, layer_norm_residual, long_sum, rms_norm, rope, rope_interleaved, segmented_reduction,
    silu_mul_fp8, softmax, vector_add)}
