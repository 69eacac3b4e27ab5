"""Kaon's C API through ctypes, on torch tensors. The library must hold the runtime and the pretuned tables."""
import ctypes
import os

import torch

# DLPack's type codes and the bits of each dtype that the benchmarks use.
_CODES = {torch.float16: (2, 16), torch.bfloat16: (4, 16), torch.float32: (2, 32), torch.float8_e4m3fn: (10, 8),
          torch.int32: (0, 32), torch.int64: (0, 64)}
_CUDA = 2


class _Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


assert ctypes.sizeof(_Tensor) == 48, "kaon_tensor has the layout of DLPack's DLTensor"


class _Scalar(ctypes.Structure):
    _fields_ = [("is_float", ctypes.c_int32), ("reserved", ctypes.c_int32), ("i", ctypes.c_int64), ("f", ctypes.c_double)]


class _CallInfo(ctypes.Structure):
    _fields_ = [("match", ctypes.c_int32), ("variant", ctypes.c_int32), ("leaf", ctypes.c_int32),
                ("reserved", ctypes.c_int32), ("programs", ctypes.c_int64), ("fingerprint", ctypes.c_uint64),
                ("config", ctypes.c_char_p), ("symbol", ctypes.c_char_p), ("dtype_key", ctypes.c_char_p),
                ("hardware", ctypes.c_char_p), ("image_target", ctypes.c_char_p), ("image_trust", ctypes.c_char_p)]


class _Device(ctypes.Structure):
    _fields_ = [("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32)]


def driver_version():
    """Version of the GPU driver, as its kernel module states it."""
    with open("/proc/driver/nvidia/version") as file:
        words = file.readline().split()
    return next((word for word in words if word.count(".") == 2 and word[0].isdigit()), "unknown")


def _scalar(value):
    return _Scalar(1, 0, 0, value) if isinstance(value, float) else _Scalar(0, 0, value, 0)


def _view(tensor):
    """A _Tensor and what must stay alive with it."""
    rank = tensor.dim()
    shape = (ctypes.c_int64 * rank)(*tensor.shape)
    strides = (ctypes.c_int64 * rank)(*tensor.stride())
    code, bits = _CODES[tensor.dtype]
    return _Tensor(tensor.data_ptr(), _CUDA, tensor.device.index or 0, rank, code, bits, 1, shape, strides, 0), shape, strides


class Kaon:
    """The library; packs named in $KAON_BENCH_PACKS (colon-separated) are served before the linked tables."""

    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        self.lib.kaon_last_error.restype = ctypes.c_char_p
        self.lib.kaon_register_pretuned()
        for pack in filter(None, os.environ.get("KAON_BENCH_PACKS", "").split(":")):
            self._check(self.lib.kaon_load_pack(pack.encode()))
        self.kernels = {}

    def _check(self, code):
        if code != 0:
            raise RuntimeError(f"kaon: {self.lib.kaon_last_error().decode()}")

    def kernel(self, name):
        if name not in self.kernels:
            handle = ctypes.c_void_p()
            self._check(self.lib.kaon_kernel_find(name.encode(), ctypes.byref(handle)))
            self._check(self.lib.kaon_preload(handle, _Device(_CUDA, torch.cuda.current_device())))
            self.kernels[name] = handle
        return self.kernels[name]

    def bind(self, name, inputs, outputs, scalars=()):
        """A function that runs the kernel on torch's current stream and returns "match: config". Integers among the
        scalars are integers of the signature, floats its floats."""
        torch.cuda.synchronize()
        kernel = self.kernel(name)
        views = [_view(tensor) for tensor in inputs + outputs]
        pointers = (ctypes.POINTER(_Tensor) * len(views))(*(ctypes.pointer(view[0]) for view in views))
        values = (_Scalar * len(scalars))(*(_scalar(value) for value in scalars))
        info = _CallInfo()
        self.lib.kaon_match_name.restype = ctypes.c_char_p

        def call(keep=(views, inputs, outputs)):
            stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
            self._check(self.lib.kaon_call(kernel, stream, pointers, len(views), values, len(values),
                                           ctypes.byref(info)))
            return f"{self.lib.kaon_match_name(info.match).decode()}: {(info.config or b'').decode()}"
        return call
