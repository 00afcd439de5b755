"""What cannot be shown is refused with exit code 2 and a remedy, and nothing is written."""

import json
import shutil
from pathlib import Path

import pytest

from dossier.conftest import World, audit_of, draw, fit
from longsynth.commands.__main__ import main
from longsynth.govern.keys import make_keys
from longsynth.system.errors import Code


def refused(*arguments: object, capfd: pytest.CaptureFixture[str]) -> str:
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as stop:
        patch.setattr("sys.argv", ["longsynth", "dossier", *map(str, arguments)])
        main()
    assert stop.value.code == 2
    return capfd.readouterr().err


def altered(world: World, tmp_path: Path, name: str, old: str, new: str) -> Path:
    folder = tmp_path / "release"
    shutil.copytree(world.release, folder)
    text = (folder / name).read_text()
    assert old in text
    (folder / name).write_text(text.replace(old, new, 1))
    return folder


def test_a_folder_without_a_release_is_refused(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "page.html"
    assert f"[{Code.NOT_A_RELEASE}]" in refused(tmp_path, "--out", out, capfd=capfd)
    assert f"[{Code.NOT_A_RELEASE}]" in refused(tmp_path / "nowhere", "--out", out, capfd=capfd)
    assert not out.exists()


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("statistics.json", "[", "[1"),
        ("STATEMENT.md", "1e-05", "1e-09"),
        ("manifest.json", "A. Fitter", "B. Fitter"),
        ("ledger.json", '"patients": 160', '"patients": 161'),
    ],
)
def test_a_tampered_release_is_refused(
    world: World,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    name: str,
    old: str,
    new: str,
) -> None:
    folder = altered(world, tmp_path, name, old, new)
    said = refused(folder, "--out", tmp_path / "page.html", capfd=capfd)
    assert any(w in said for w in ("longsynth verify", "does not hold", "is not the JSON"))
    assert not (tmp_path / "page.html").exists()


def test_a_signature_of_something_else_is_refused(
    world: World, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    from longsynth.govern.keys import load_private, signature_json, signature_of

    folder = tmp_path / "release"
    shutil.copytree(world.release, folder)
    make_keys(tmp_path / "key")
    key = load_private(tmp_path / "key")
    (folder / "signature.json").write_bytes(signature_json(signature_of(b"other", key, None)))
    assert f"[{Code.RELEASE_ALTERED}]" in refused(
        folder, "--out", tmp_path / "page.html", capfd=capfd
    )


def test_an_audit_of_another_release_is_refused(
    world: World, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in ("train", "test"):
        shutil.copytree(world.work / name, tmp_path / name)
    fit(tmp_path, "other")
    draw(tmp_path, "other", "drawn")
    audit_of(tmp_path, "drawn", "audit")
    out = tmp_path / "page.html"
    said = refused(
        world.work / "run", "--audit", tmp_path / "audit", "--out", out, "--redraws", 0, capfd=capfd
    )
    assert "another release" in said
    assert "longsynth sample" in said
    assert not out.exists()


def changed(found: dict[str, object], how: str) -> object:
    panels = json.loads(json.dumps(found))
    match how:
        case "no portraits":
            del panels["portraits"]
        case "a cohort less":
            del panels["portraits"]["real"]
        case "another schema":
            panels["portraits"]["real"]["variables"].pop()
        case "text for a number":
            panels["portraits"]["real"]["gaps"]["shares"][0] = "<b>"
        case "no number":
            panels["portraits"]["real"]["gaps"]["shares"][0] = float("nan")
        case "a huge number":
            panels["portraits"]["real"]["gaps"]["shares"][0] = 10**400
        case "half a curve":
            panels["curves"][0]["roc"][0].pop()
        case "a list":
            return [panels]
    return panels


@pytest.mark.parametrize(
    "how",
    [
        "no portraits",
        "a cohort less",
        "another schema",
        "text for a number",
        "no number",
        "a huge number",
        "half a curve",
        "a list",
    ],
)
def test_an_audit_that_was_altered_is_refused(
    world: World, tmp_path: Path, capfd: pytest.CaptureFixture[str], how: str
) -> None:
    shutil.copytree(world.audit, tmp_path / "audit")
    path = tmp_path / "audit/panels.json"
    path.write_text(json.dumps(changed(json.loads(path.read_text()), how)))
    wish = ("--audit", tmp_path / "audit", "--out", tmp_path / "page.html", "--redraws", 0)
    said = refused(world.release, *wish, capfd=capfd)
    assert "[audit-unusable]" in said


def test_a_folder_that_is_no_audit_is_refused(
    world: World, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    wish = ("--audit", tmp_path, "--out", tmp_path / "page.html", "--redraws", 0)
    assert "`longsynth audit` wrote" in refused(world.release, *wish, capfd=capfd)


def test_nothing_is_overwritten_and_the_name_says_what_it_is(
    world: World, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    there = tmp_path / "page.html"
    there.write_text("mine")
    assert f"[{Code.OUTPUT_EXISTS}]" in refused(world.release, "--out", there, capfd=capfd)
    assert there.read_text() == "mine"
    assert f"[{Code.OPTION_UNUSABLE}]" in refused(
        world.release, "--out", tmp_path / "page", capfd=capfd
    )


def test_a_form_that_the_release_does_not_name_is_refused(
    world: World, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    form = Path(__file__).parents[2] / "examples/governance.yaml"
    wish = ("--governance", form, "--out", tmp_path / "page.html")
    assert f"[{Code.FORM_MISMATCH}]" in refused(world.release, *wish, capfd=capfd)


def test_without_chromium_a_pdf_is_refused_before_anything_is_written(
    world: World,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    said = refused(world.release, "--out", tmp_path / "page.html", "--pdf", capfd=capfd)
    assert f"[{Code.PDF_UNAVAILABLE}]" in said
    assert list(tmp_path.iterdir()) == []
