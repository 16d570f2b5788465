#!/usr/bin/env python3
"""Gathers every Swift sample of the README, the articles and the doc comments, to be compiled: samples.py FOLDER.

A block stands for itself: its declarations are put into a type of their own, so that names do not meet. A sample in a
doc comment is statements: it is put into a function, with the few names that such samples take for granted."""
import pathlib, re, sys

target = pathlib.Path(sys.argv[1])
imports, plain, inner = set(), [], []
CONTEXT = """
let url = URL(string: "https://example.org/a.png")!
let urls = [url]
let loader = try ImageLoader()
let prefetcher = Prefetcher(loader: loader)
var window = ListWindow()
func showPlaceholder() {}
func show(_: Any) {}
func log(_: String) {}
struct Inspector: BodyInspector {
    mutating func receive(_ bytes: UnsafeRawBufferPointer) throws(ImageError) {}
    mutating func finish() throws(ImageError) {}
}
let inspector = Inspector()
let response = TransportResponse(status: 200, fields: [:], body: ResponseBody())
"""


def add(kind, path, line, code, before="", after=""):
    lines = code.splitlines()
    imports.update(line for line in lines if line.startswith("import "))
    # Blank lines in place of the imports: errors name the lines of the original.
    body = "\n".join("" if line.startswith("import ") else line for line in lines)
    kind.append(
        f"enum Sample{len(plain) + len(inner)} {{\n{before}"
        f'#sourceLocation(file: "{path}", line: {line})\n{body}\n#sourceLocation()\n{after}}}\n')


articles = [pathlib.Path("README.md"), *pathlib.Path("Documentation").rglob("*.md"),
            *pathlib.Path("Sources/Larder/Larder.docc").glob("*.md")]
for path in articles:
    text = path.read_text()
    for match in re.finditer(r"^```swift( testable)?\n(.*?)^```", text, re.M | re.S):
        add(inner if match[1] else plain, path, text.count("\n", 0, match.start()) + 2, match[2])

for path in pathlib.Path("Sources/Larder").rglob("*.swift"):
    lines = path.read_text().splitlines()
    at = 0
    while at < len(lines):
        if lines[at].strip() != "///" or not re.match(r" *///     \S", lines[at + 1]):
            at += 1
            continue
        start = at + 1
        code = []
        at += 1
        while at < len(lines) and re.match(r" *///(     |$)", lines[at]):
            code.append(re.sub(r"^ *///(    )?", "", lines[at]))
            at += 1
        while at < len(lines) and lines[at].strip().startswith("///"):
            at += 1
        if at < len(lines) and lines[at].strip().startswith("public"):
            add(plain, path, start + 1, "\n".join(code), f"func run() async throws {{{CONTEXT}do {{\n", "}\n}\n")

header = "import Foundation\nimport Observation\n" + "".join(f"{line}\n" for line in sorted(imports) if "Larder" not in line)
(target / "Plain.swift").write_text(header + "import Larder\n" + "".join(plain))
(target / "Inner.swift").write_text(header + "@testable import Larder\n" + "".join(inner))
print(f"{len(plain) + len(inner)} samples")
