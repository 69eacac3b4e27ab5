"""Every kernel under pretuned/ is whole: source, sweep, typed function, cases, and a place in each list that names kernels.
usage: check_pretuned.py SOURCE_DIR"""
import json
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
sys.dont_write_bytecode = True
sys.path.insert(0, str(root / "bench"))
import peer_shapes  # noqa: E402

errors = []
pretuned = root / "pretuned"
cmake, register, readme = ((pretuned / name).read_text() for name in ("CMakeLists.txt", "register.cpp", "README.md"))
cases = "\n".join(path.read_text() for path in (root / "tests/kernels").glob("*.cases"))
kernels = sorted(path.parent.name for path in pretuned.glob("*/*.tile"))
for kernel in kernels:
    for suffix in (".tile", ".shapes.json", ".h", ".cpp"):
        if not (pretuned / kernel / (kernel + suffix)).is_file():
            errors.append(f"pretuned/{kernel}/{kernel}{suffix} is missing")
    for where, text, wanted in (("pretuned/CMakeLists.txt, the list of kernels", cmake.split(")")[0], rf"\b{kernel}\b"),
                                ("pretuned/CMakeLists.txt, the headers", cmake, rf"^  {kernel}/{kernel}\.h$"),
                                ("pretuned/register.cpp", register, rf"kaon::{kernel}_kernel\(\)"),
                                ("pretuned/README.md, a row", readme, rf"^\| `{kernel}` \|"),
                                ("tests/kernels/*.cases, a file line", cases, rf"^file .*/pretuned/{kernel}/{kernel}\.tile$")):
        if not re.search(wanted, text, re.MULTILINE):
            errors.append(f"{kernel} is not in {where}")
    for path in (pretuned / kernel).glob("*.shapes.json"):
        if json.loads(path.read_text()).get("kernel") != kernel:
            errors.append(f"{path.relative_to(root)} is not for kernel {kernel}")
if kernels != sorted(peer_shapes.KERNELS):
    errors.append(f"bench/peer_shapes.py times {sorted(set(peer_shapes.KERNELS) ^ set(kernels))} alone, or does not")
for kernel, (_, dtypes, shapes) in peer_shapes.KERNELS.items():
    if not set(dtypes.split()) <= {"f16", "bf16", "f32"}:
        errors.append(f"bench/peer_shapes.py: {kernel} has dtypes {dtypes}")
    for shape in shapes:
        try:
            peer_shapes.parse(kernel, shape)
        except ValueError as error:
            errors.append(f"bench/peer_shapes.py: {error}")

print("\n".join(errors) or f"{len(kernels)} kernels, each whole")
sys.exit(bool(errors))
