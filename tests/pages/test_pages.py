"""Every command and every snippet of the documentation runs, and prints what the page shows."""

import re
from pathlib import Path

import pytest

from pages.blocks import PAGES, READ, ROOT, RUN, Block, blocks
from pages.running import run_page

BLOCKS = [block for page in PAGES for block in blocks(page)]
WITH_COMMANDS = list(dict.fromkeys(block.page for block in BLOCKS if block.runs))


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=name)
def test_what_a_page_tells_to_type_works_as_told(page: Path, tmp_path: Path) -> None:
    assert run_page(page, tmp_path) == page.read_text("utf-8")


def test_every_block_says_what_it_is() -> None:
    for block in BLOCKS:
        assert block.language in RUN + READ, block.place
    fences = {page: len(re.findall(r"^ *```", page.read_text("utf-8"), re.M)) for page in PAGES}
    for page in PAGES:
        written = [b for b in blocks(page) if page.read_text("utf-8")[b.start - 1] == "\n"]
        assert len(written) * 2 == fences[page], f"{name(page)}: a fence was not understood"


def test_a_block_that_is_only_read_holds_no_command() -> None:
    for block in BLOCKS:
        if block.language in READ:
            assert not re.search(r"^\$? ?(longsynth|python|pip|make) ", block.text, re.M), (
                block.place
            )


def test_what_is_not_run_says_why() -> None:
    excused = [block for block in BLOCKS if block.not_run is not None]
    for block in excused:
        assert block.language in RUN, f"{block.place} would not be run anyhow"
        assert len(str(block.not_run).split()) >= 4, block.place
    assert len(excused) <= len([b for b in BLOCKS if b.runs]) / 4, "the exception became the rule"


def written(tmp_path: Path, text: str) -> Path:
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    (tmp_path / "scratch").mkdir()
    return page


def test_a_page_that_lies_is_corrected(tmp_path: Path) -> None:
    told = "```console\n$ printf 'a\\nb\\n'\na\nb\n```\n"
    page = written(tmp_path, told.replace("\nb\n", "\nc\n", 1))
    assert run_page(page, tmp_path / "scratch") == told


@pytest.mark.parametrize(
    "text", ["```bash\nfalse\n```\n", "```python\n1 / 0\n```\n", "```console\n$ false\n```\n"]
)
def test_a_command_that_fails_is_noticed(
    tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Block, "place", "here")
    with pytest.raises(AssertionError, match="here"):
        run_page(written(tmp_path, text), tmp_path / "scratch")


def test_files_are_written_and_dots_stand_for_anything(tmp_path: Path) -> None:
    text = '```csv title="a/b.csv"\n1\n2\n3\n```\n\n```console\n$ cat a/b.csv\n1\n…\n```\n'
    assert run_page(written(tmp_path, text), tmp_path / "scratch") == text
