"""Runs the TextMate grammar of .tile files over every .tile of the repository and the examples of LANGUAGE.md.

Each comment, keyword, element type, member and call must get the scope that it should have, no character but blanks may
be left without one, and the grammar must know every keyword, type and function of the compiler's tables.
"""
import json
import pathlib
import re
import sys


class Grammar:
    """As much of TextMate as the grammar needs: match, begin and end, captures, includes of the repository."""

    def __init__(self, path):
        source = json.loads(path.read_text())
        self.repository = source["repository"]
        self.rules = self.flatten(source["patterns"])

    def flatten(self, patterns):
        rules = []
        for pattern in patterns:
            if "include" in pattern:
                rules += self.flatten(self.repository[pattern["include"][1:]]["patterns"])
            elif "begin" in pattern:
                inner = self.flatten(pattern.get("patterns", []))
                rules.append((re.compile(pattern["begin"]), pattern, (re.compile(pattern["end"]), inner)))
            else:
                rules.append((re.compile(pattern["match"]), pattern, None))
        return rules

    def scopes(self, line):
        """The innermost scope of each character, or None. No rule of the grammar goes on to a next line."""
        scopes = [None] * len(line)
        self.run(line, 0, self.rules, None, None, scopes)
        return scopes

    def run(self, line, at, rules, end, name, scopes):
        while at < len(line):
            stop = end.search(line, at) if end else None
            found = [(rule[0].search(line, at), rule) for rule in rules]
            found = [(match, rule) for match, rule in found if match and match.end() > match.start()]
            best = min(found, key=lambda entry: entry[0].start(), default=None)
            until = best[0].start() if best and not (stop and stop.start() <= best[0].start()) else None
            limit = until if until is not None else stop.start() if stop else len(line)
            if name:
                scopes[at:limit] = [name] * (limit - at)
            if until is None:
                return stop.end() if stop else len(line)
            at = self.apply(line, *best, scopes)
        return at

    def apply(self, line, match, rule, scopes):
        _, pattern, nested = rule
        self.paint(scopes, match, 0, pattern.get("name"))
        captures = pattern.get("beginCaptures" if nested else "captures", {})
        for number, capture in sorted(captures.items(), key=lambda entry: int(entry[0])):
            self.paint(scopes, match, int(number), capture["name"])
        if nested is None:
            return match.end()
        return self.run(line, match.end(), nested[1], nested[0], pattern.get("name"), scopes)

    @staticmethod
    def paint(scopes, match, group, name):
        if name and match.start(group) >= 0:
            scopes[match.start(group):match.end(group)] = [name] * (match.end(group) - match.start(group))


def tables(root):
    """What the compiler itself says are its keywords, element types, members and functions."""
    def words(path, pattern):
        return set(re.findall(pattern, (root / path).read_text()))

    members = re.search(r"kMembers\[\] = \{([^}]*)\}", (root / "compiler/frontend/expressions.cpp").read_text())
    functions = words("compiler/ir/functions.inc", r'KAON_UNARY\(\w+, "(\w+)"\)') - {"neg", "not"}
    for path in sorted((root / "compiler/frontend").glob("*.cpp")):
        functions |= words(path.relative_to(root), r'\{"(\w+)", "[^"]*", &KernelBuilder::')
    return {
        "keyword": words("compiler/frontend/tokens.inc", r'KAON_KEYWORD\(\w+, "(\w+)"\)'),
        "type": words("runtime/base/dtype.inc", r'KAON_DTYPE\(\w+, "(\w+)"'),
        "member": set(re.findall(r'"(\w+)"', members.group(1))),
        "function": functions,
    }


WANTED = {
    "keyword": r"^(storage|keyword|constant\.language)",
    "type": r"^storage\.type\.element",
    "member": r"^variable\.other\.member",
    "function": r"^support\.function",
}


def kind_of(word, before, after, known):
    if before == "." and word in known["member"] and after != "(":
        return "member"
    if word in known["keyword"]:
        return "keyword"
    if word in known["type"]:
        return "type"
    return "function" if word in known["function"] and after == "(" else None


def complaints(where, line, grammar, known):
    scopes = grammar.scopes(line)
    code = line
    comment = line.find("//")
    if comment >= 0:
        code = line[:comment]
        if any(not (scope or "").startswith(("comment", "punctuation.definition.comment", "keyword.other.expectation"))
               for scope in scopes[comment:]):
            yield f"{where}: a comment has another scope"
    for at, character in enumerate(code):
        if not character.isspace() and scopes[at] is None:
            yield f"{where}:{at + 1}: no scope for {code[at:]!r}"
            break
    for match in re.finditer(r"[A-Za-z_]\w*", code):
        before = code[:match.start()].rstrip()[-1:]
        after = code[match.end():].lstrip()[:1]
        kind = kind_of(match.group(), before, after, known)
        scope = scopes[match.start()] or ""
        is_text = scope.startswith("string") and code[:match.start()].count('"') % 2 == 1
        if kind and not is_text and not re.search(WANTED[kind], scope):
            yield f"{where}:{match.start() + 1}: {kind} {match.group()!r} has scope {scope!r}"


def texts(root):
    for path in sorted(root.rglob("*.tile")):
        relative = path.relative_to(root)
        if relative.parts[0] not in ("build", ".git"):
            yield str(relative), path.read_text().splitlines()
    manual = (root / "compiler/LANGUAGE.md").read_text()
    for block in re.finditer(r"^```tile\n(.*?)^```", manual, re.S | re.M):
        line = manual.count("\n", 0, block.start()) + 1
        yield f"compiler/LANGUAGE.md:{line}", block.group(1).splitlines()


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    grammar = Grammar(root / "compiler/editors/kaon.tmLanguage.json")
    known = tables(root)
    errors = []
    if min(len(words) for words in known.values()) < 6:
        errors.append(f"the compiler's tables have moved, found only {known}")
    for kind, words in known.items():
        for word in sorted(words):
            line = {"member": f"m.{word};", "function": f"{word}(x);"}.get(kind, f"{word} ")
            errors += complaints(f"the table of {kind}s", line, grammar, known)
    files = 0
    for name, lines in texts(root):
        files += 1
        for number, line in enumerate(lines):
            errors += complaints(f"{name}:{number + 1}", line, grammar, known)
    if files < 10:
        errors.append(f"found only {files} texts to colour")
    print("\n".join(errors) or f"{files} texts coloured")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
