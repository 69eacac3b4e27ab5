"""The shared library exports the C interface and nothing else, and another language can call it.

usage: check_shared.py LIBRARY HEADER...
"""
import ctypes
import re
import subprocess
import sys

library, headers = sys.argv[1], sys.argv[2:]
declared = set()
for header in headers:
    with open(header) as file:
        declared |= set(re.findall(r"^KAON_API [^(]*?(kaon_\w+)\(", file.read(), re.M))
lines = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
exported = {line.split()[-1].split("@")[0] for line in lines.splitlines()}
assert len(declared) > 10 and exported == declared, f"exported but not declared: {sorted(exported - declared)}; " \
                                                    f"declared but not exported: {sorted(declared - exported)}"

kaon = ctypes.CDLL(library)
kaon.kaon_last_error.restype = ctypes.c_char_p
assert kaon.kaon_abi_version() == 1
kernel = ctypes.c_void_p()
NOT_FOUND = 2
assert kaon.kaon_kernel_find(b"nobody", ctypes.byref(kernel)) == NOT_FOUND
assert b"no kernel nobody" in kaon.kaon_last_error()
if "kaon_register_pretuned" in declared:
    kaon.kaon_register_pretuned()
    for name in (b"softmax", b"vector_add"):
        assert kaon.kaon_kernel_find(name, ctypes.byref(kernel)) == 0, kaon.kaon_last_error()
        assert kernel.value, name
print("shared library: ok,", len(exported), "functions")
