"""What bench/peers.py times by default: the dims of each kernel, its dtypes, and shapes of the sweeps that peers publish, with
odd, small and long ones beside them. Plain data; a shape of a jagged kernel ends in how long its rows are."""

_LENGTHS = ("even", "uniform", "power", "giant", "half")


def _jagged(*shapes):
    return [f"{shape}:{lengths}" for shape in shapes for lengths in _LENGTHS]


_LAYER_NORM = ([f"4096x{512 * i}" for i in range(2, 32)] +
               "2048x3584 8192x4096 8192x5120 8192x7168 2048x8192 4096x16384 1024x36864 1152x36864 2048x1023 16x4096 1x8192".split())
_RMS_NORM = ("2048x1024 2048x2048 2048x4096 2048x8192 2048x16384 2048x32768 2048x48 2048x96 2048x127 2048x768 2048x1023 2048x1536 "
             "2048x2047 2048x3072 2048x5120 2048x6144 4096x3584 4096x4096 4096x5120 4096x7168 4096x8192 4096x12288 8192x4096 "
             "8192x8192 16384x4096 16384x8192 145956x384 380668x512 589824x256 1179648x256 16x4096 1x8192").split()
_CROSS_ENTROPY = ("2048x32000 4096x32000 8192x32000 8192x128000 16384x128000 32768x128000 2048x128256 4096x128256 8192x128256 "
                  "16384x128256 2048x129280 4096x129280 8192x129280 2048x151936 4096x151936 8192x151936 2048x152064 4096x152064 "
                  "8192x152064 1024x256000 2048x256000 2048x50257 16x32000 64x128256 1x151936").split()
_FUSED = "1x4096 16x4096 64x8192 256x4096 2048x4096 4096x8192 16384x8192 2048x1023".split()
_ROPE = ("1x1024x32x8x256 1x2048x32x8x256 1x4096x32x8x256 1x8192x32x8x256 1x16384x32x8x256 1x2048x32x8x16 1x2048x32x8x64 "
         "1x1x64x8x128 1x2048x64x8x128 1x8192x64x8x128").split()

# kernel: (what a shape's numbers are, dtypes, shapes)
KERNELS = {
    "bias_with_slice": ("B N M S", "bf16 f16 f32", "64x192x512x100 1024x192x128x48 2048x192x256x48 2048x512x256x300 1x192x512x48".split()),
    "cross_entropy": ("M V", "bf16 f16 f32", _CROSS_ENTROPY),
    "dynamic_per_token_fp8_quant": ("M N", "bf16 f16 f32", "1x4096 16x2048 64x5120 256x4096 1024x2048 2048x5120 4096x5120 16384x8192".split()),
    "fused_add_rms_norm": ("M N", "bf16 f16 f32", _FUSED),
    "jagged_dense_add": ("B N mean", "f32 bf16 f16", _jagged("512x512x256", "2048x512x256", "16384x512x256")),
    "jagged_layer_norm": ("B F mean", "f32 bf16 f16", _jagged("512x128x256", "2048x128x256", "16384x64x64")),
    "jagged_mean": ("B F mean", "f32 bf16 f16", _jagged("512x128x256", "2048x128x256", "16384x64x64")),
    "jagged_softmax": ("B F mean", "f32 bf16 f16", _jagged("512x128x256", "2048x128x256", "16384x64x64")),
    "jagged_sum": ("B F mean", "f32 bf16 f16", _jagged("512x128x256", "2048x128x256", "4096x256x256", "16384x64x64")),
    "layer_norm": ("M N", "f16 bf16 f32", _LAYER_NORM),
    "layer_norm_residual": ("M N", "bf16 f16 f32", _FUSED),
    "long_sum": ("M N", "f32 f16 bf16", "1x1048576 4x130000 16x262144 64x262144 1024x131072 16x50257 4096x32768 32768x1024".split()),
    "rms_norm": ("M N", "bf16 f16 f32", _RMS_NORM),
    "rope": ("B S Q K D", "bf16 f16 f32", _ROPE),
    "rope_interleaved": ("B S Q K D", "bf16 f16 f32", _ROPE),
    "segmented_reduction": ("E F S", "f32 bf16 f16", "2000x128x100 100000x128x1000 1000000x128x10000 1000000x64x100000 500000x33x5000".split()),
    "silu_mul_fp8": ("M H", "bf16 f16 f32", "1x4096 8x14336 64x11008 128x2880 256x14336 2048x8192 8192x14336".split()),
    "softmax": ("M N", "f16 bf16 f32", ("4096x256 4096x1024 4096x2048 4096x4096 4096x8192 4096x12544 4096x16384 2048x32768 128x131072 "
                                        "1024x8192 32768x1024 4096x1000 4096x12543 2048x50257").split()),
    "vector_add": ("N", "f32 f16 bf16", "1048576 4194304 16777216 67108864 268435456 200000001".split()),
}

# dtypes in which Helion ships sm90 tuning of the same kernel.
HELION_DTYPES = {"cross_entropy": ("bf16",), "dynamic_per_token_fp8_quant": ("bf16",), "layer_norm": ("f16",), "rms_norm": ("bf16",),
                 "rope": ("bf16",), "silu_mul_fp8": ("bf16",), "softmax": ("f16",), "vector_add": ("f32",)}
HELION_NAMES = {"dynamic_per_token_fp8_quant": ("dynamic_per_token_scaled_fp8_quant",) * 2, "rope": ("rope", "rope_fwd")}


def parse(kernel, text):
    """The numbers of a shape, and its row lengths ("" where the kernel has none). ValueError with the mend."""
    numbers, _, lengths = text.partition(":")
    dims = KERNELS[kernel][0].split()
    values = tuple(int(number) for number in numbers.split("x"))
    if len(values) != len(dims):
        raise ValueError(f"{kernel} {text}: has {len(values)} numbers, expected {len(dims)} ({', '.join(dims)})")
    if (kernel.startswith("jagged_")) != (lengths in _LENGTHS):
        raise ValueError(f"{kernel} {text}: expected row lengths of jagged kernels alone, one of {', '.join(_LENGTHS)}, as in 512x128x256:even")
    return values, lengths


def listing():
    """Text for people: each kernel with its dims, dtypes and default shapes."""
    return "\n".join(f"{name} ({dims.replace(' ', ' x ')}; {dtypes.replace(' ', ', ')})\n  {' '.join(shapes)}"
                     for name, (dims, dtypes, shapes) in KERNELS.items())
