"""The fenced blocks of a page, and what each is for.

    ```bash                    commands, all of which succeed
    ```console                 commands after `$ `, and what each prints; `…` stands for anything
    ```python                  a script
    ```yaml title="form.yaml"  a file, written where the commands run
    ```text, ```yaml           to be read only

Two comments, in a line of their own, speak to the test and not to the reader:

    <!-- first: COMMAND -->    run before what follows, so that a page need not begin at Adam
    <!-- not run: REASON -->   the next block is not run: it needs a server, a cluster or an hour
"""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    ROOT / "src/longsynth/privacy/README.md",
    ROOT / "tests/mutants/README.md",
]
RUN, READ = ("bash", "console", "python"), ("text", "yaml", "csv", "toml", "json")
_FENCE = re.compile(
    r"^<!-- first: (?P<first>.*?) -->$"
    r"|(?:^<!-- not run: (?P<reason>.+?) -->\n+)?"
    r'^(?P<indent> *)```(?P<language>\S*)(?: title="(?P<title>.+?)")?\n'
    r"(?P<text>.*?)^(?P=indent)```$",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Block:
    page: Path
    start: int  # of its text in the page
    language: str
    text: str
    title: str | None = None
    not_run: str | None = None  # why

    @property
    def runs(self) -> bool:
        return self.not_run is None and (self.language in RUN or self.title is not None)

    @property
    def place(self) -> str:
        line = self.page.read_text("utf-8")[: self.start].count("\n") + 1
        return f"{self.page.relative_to(ROOT)}:{line}"


def blocks(page: Path) -> list[Block]:
    found = []
    for match in _FENCE.finditer(page.read_text("utf-8")):
        if match["first"]:
            found.append(Block(page, match.start("first"), "bash", match["first"]))
        else:
            text = re.sub(rf"^{match['indent']}", "", match["text"], flags=re.MULTILINE)
            if included := re.fullmatch(r"--8<--\n(.+)\n--8<--\n", text):
                text = (ROOT / included[1]).read_text("utf-8")
            found.append(
                Block(
                    page,
                    match.start("text"),
                    match["language"],
                    text,
                    match["title"],
                    match["reason"],
                )
            )
    return found
