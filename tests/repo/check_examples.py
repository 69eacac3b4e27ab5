"""Every keyword, element type, member, function, loop and knob of the language stands in LANGUAGE.md, and all but knobs in an example.

Examples are the blocks fenced as ```tile, which other tests compile and run.
"""
import pathlib
import re
import sys

from check_grammar import tables


def examples(manual):
    blocks = re.findall(r"^```tile\n(.*?)^```", manual, re.S | re.M)
    return "\n".join(re.sub(r"//.*", "", block) for block in blocks)


def wanted(root):
    """Kind and name of everything, with the pattern that is its use in an example."""
    known = tables(root)
    patterns = {"keyword": r"\b{}\b", "type": r"\b{}\b", "member": r"\.{}\b(?!\()", "function": r"\b{}\("}
    for kind, pattern in patterns.items():
        for name in sorted(known[kind]):
            yield kind, name, pattern.format(name)
    for loop in ("tile", "jagged_tile", "grid", "static_range", "block"):
        yield "loop", loop, rf"\b{loop}\("
    for operator in ("+", "-", "*", "/", "%", "@", "&", "|", "^", "<<", ">>", "==", "!=", "<", "<=", ">", ">="):
        yield "operator", operator, rf"[\w)\]] {re.escape(operator)} [\w(\-.~]"
    for operator in ("+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="):
        yield "operator", operator, rf" {re.escape(operator)} "
    yield "operator", "~", r"~\w"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    manual = (root / "compiler/LANGUAGE.md").read_text()
    code = examples(manual)
    entries = list(wanted(root))
    errors = [f"compiler/LANGUAGE.md: no example uses {kind} `{name}`"
              for kind, name, pattern in entries if not re.search(pattern, code)]
    if len(entries) < 120:
        errors.append(f"the compiler's tables have moved: found only {len(entries)} names")
    print("\n".join(errors) or f"{len(entries)} names, each in an example")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
