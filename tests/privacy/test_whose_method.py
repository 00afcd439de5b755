"""Whose method it is: a release says it, and everyone who relies on a method of others is told."""

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import longsynth
from longsynth import Bundle, Refused, ReleaseError, fit, load_release, plan
from longsynth.methods.dp_score import DPScore
from longsynth.methods.method import PrivateMethod
from longsynth.methods.registry import METHODS, code_hash, installed_here, method_named, origin_of
from longsynth.plan import plan_of
from longsynth.privacy.budget import Budget
from longsynth.release.folder import Release, read_release, release_files
from longsynth.release.verify import verify
from longsynth.system.errors import Finding
from longsynth.system.origin import OPENDP_VERSION, VERSION, Origin, read_origin
from support import random_cohort, small_schema
from third_party import PACKAGE, Honest, install
from third_party import VERSION as THEIRS

PRIVATE = [name for name, method in METHODS.items() if isinstance(method, PrivateMethod)]
NOT_PROVED = "longsynth has not proved its sensitivity"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of installed packages; what is imported from it is forgotten afterwards."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    code_hash.cache_clear()
    yield folder
    sys.modules.pop("elsewhere_methods", None)
    code_hash.cache_clear()


def written(bundle: Bundle, folder: Path) -> Path:
    folder.mkdir(parents=True)
    for name, content in release_files(Release(bundle)).items():
        (folder / name).write_bytes(content)
    return folder


def fitted(method: str, epsilon: float = 8) -> Bundle:
    planned = plan(small_schema(), 60, epsilon=epsilon, delta=1e-5, method=method)
    return fit(random_cohort(60, 2), planned)


def manifest_of(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "manifest.json").read_text())


def about_code(findings: list[Finding]) -> Finding:
    found = [finding for finding in findings if "installed here" in finding.sentence]
    assert len(found) == 1
    return found[0]


def caution_of(release: Path) -> str:
    """The one caution of a release that holds."""
    findings = verify(release)
    assert all(finding.good for finding in findings)
    found = [finding.sentence for finding in findings if finding.caution]
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize("name", PRIVATE)
def test_a_release_of_ours_names_this_code_and_carries_no_caution(
    name: str, tmp_path: Path
) -> None:
    release = written(fitted(name), tmp_path / "release")
    stated = manifest_of(release)
    assert stated["format"] == 4
    assert stated["opendp"] == OPENDP_VERSION
    assert stated["method"] == {
        "distribution": "longsynth",
        "version": VERSION,
        "sha256": installed_here().sha256,
    }
    statement = (release / "STATEMENT.md").read_text()
    assert f"`{installed_here().sha256}`" in statement
    assert "not a method of longsynth" not in statement
    findings = verify(release)
    assert all(finding.good for finding in findings)
    assert not any(finding.caution for finding in findings)
    assert f"states that longsynth {VERSION}" in about_code(findings).sentence
    assert "the same hash" in about_code(findings).sentence


def test_a_release_of_others_says_whose_method_it_is(site: Path, tmp_path: Path) -> None:
    install(site)
    release = written(fitted("honest"), tmp_path / "release")
    stated = manifest_of(release)["method"]
    assert (stated["distribution"], stated["version"]) == (PACKAGE, THEIRS)
    assert stated["sha256"] == code_hash("elsewhere_methods")
    top, _, rest = (release / "STATEMENT.md").read_text().partition("\n\n**ε = ")
    assert NOT_PROVED in top
    assert f"{PACKAGE} {THEIRS}" in top
    assert f"from `{PACKAGE}` version `{THEIRS}`, code with SHA-256 `{stated['sha256']}`" in rest
    assert NOT_PROVED in caution_of(release)
    assert "The same code is installed here." in caution_of(release)
    assert load_release(release).origin == Origin(**stated)


def test_a_method_object_of_no_package_is_marked_though_it_has_a_name_of_ours(
    tmp_path: Path,
) -> None:
    class Borrowed(DPScore):
        pass

    planned = plan_of(Borrowed(), small_schema(), 60, Budget(8.0, 1e-5))
    bundle = fit(random_cohort(60, 2), planned)
    assert bundle.method == "dp-score"
    assert bundle.origin.distribution is None
    assert bundle.origin.sha256 == code_hash(__name__)
    release = written(bundle, tmp_path / "release")
    assert "not installed as a package" in caution_of(release)
    assert NOT_PROVED in caution_of(release)


def test_an_object_of_our_class_with_a_function_replaced_is_not_ours() -> None:
    """A package may return one of our objects with its own rows in it, under a name of its own."""
    disguised = DPScore()
    disguised.encoder = lambda *_, **__: {}  # type: ignore[method-assign]
    assert not origin_of(disguised).ours
    assert not origin_of(DPScore()).ours, "only the very object that we ship is ours"
    shipped = METHODS["dp-score"]
    assert origin_of(shipped).ours
    shipped.encoder = disguised.encoder  # type: ignore[attr-defined]
    try:
        assert not origin_of(shipped).ours
    finally:
        del shipped.encoder  # type: ignore[attr-defined]


def test_a_method_put_into_our_list_is_still_not_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "honest", Honest())
    assert not origin_of(method_named("honest")).ours
    assert origin_of(METHODS["trust"]).ours


def test_the_hash_changes_with_any_file_of_the_package(site: Path) -> None:
    install(site)
    method = method_named("honest")
    found = {origin_of(method).sha256}
    package = site / "elsewhere_methods"
    (package / "table.csv").write_text("1\n")
    for name, text in (("table.csv", "2\n"), ("table2.csv", "2\n"), ("__init__.py", "# other\n")):
        code_hash.cache_clear()
        found.add(origin_of(method).sha256)
        (package / name).write_text(text)
    code_hash.cache_clear()
    found.add(origin_of(method).sha256)
    assert len(found) == 5
    (package / "__pycache__").mkdir(exist_ok=True)
    (package / "__pycache__/table.cpython-311.pyc").write_bytes(b"compiled")
    (package / ".hidden").write_text("an editor's")
    code_hash.cache_clear()
    assert origin_of(method).sha256 in found


def test_our_hash_covers_every_source_file() -> None:
    """Computed here once more, by the rule that the documents state."""
    root, parts = Path(longsynth.__file__).parent, []
    for path in sorted(root.rglob("*"), key=lambda p: p.relative_to(root.parent).as_posix()):
        if path.is_file() and "__pycache__" not in path.parts:
            content = path.read_bytes()
            parts.append(f"{path.relative_to(root.parent).as_posix()}\n{len(content)}\n".encode())
            parts.append(content)
    assert any(b"longsynth/privacy/noise.py\n" in part for part in parts)
    assert installed_here().sha256 == sha256(b"".join(parts)).hexdigest()


def test_other_code_of_the_same_version_is_a_caution_and_another_version_a_hint(
    tmp_path: Path,
) -> None:
    bundle = fitted("dp-score")
    other = replace(bundle, origin=Origin("longsynth", VERSION, "0" * 64))
    findings = verify(written(other, tmp_path / "other"))
    assert all(finding.good for finding in findings)
    assert about_code(findings).caution
    assert "One of the two was changed" in about_code(findings).sentence
    later = replace(bundle, origin=Origin("longsynth", "9.9.9", "0" * 64))
    folder = tmp_path / "later"
    folder.mkdir()
    for name, content in release_files(Release(later, version="9.9.9")).items():
        (folder / name).write_bytes(content)
    findings = verify(folder)
    assert all(finding.good for finding in findings)
    assert not about_code(findings).caution
    assert "install longsynth==9.9.9" in about_code(findings).sentence


def test_another_package_than_the_one_here_is_said(site: Path, tmp_path: Path) -> None:
    install(site)
    release = written(fitted("honest"), tmp_path / "release")
    (site / "elsewhere_methods/__init__.py").write_text("# changed since\n")
    code_hash.cache_clear()
    assert "Different code is installed here." in caution_of(release)


def test_the_fingerprint_covers_whose_method_it_is() -> None:
    bundle = fitted("dp-score")
    other = replace(bundle, origin=replace(bundle.origin, sha256="0" * 64))
    assert other.fingerprint != bundle.fingerprint


def test_a_method_of_others_cannot_be_relabelled_as_ours(site: Path, tmp_path: Path) -> None:
    install(site)
    release = written(fitted("honest"), tmp_path / "release")
    ours = {"distribution": "longsynth", "version": VERSION, "sha256": installed_here().sha256}
    stated = manifest_of(release)
    (release / "manifest.json").write_text(json.dumps(stated | {"method": ours}))
    failed = [finding.sentence for finding in verify(release) if not finding.good]
    assert any("which has no such method" in sentence for sentence in failed)


MALFORMED = {
    "nothing": None,
    "a text": "longsynth",
    "an unknown key": {"distribution": None, "version": None, "sha256": None, "by": "us"},
    "a package without a version": {"distribution": "x", "version": None, "sha256": None},
    "ours without a hash": {"distribution": "longsynth", "version": VERSION, "sha256": None},
    "ours of two versions": {"distribution": "longsynth", "version": "7.0", "sha256": "0" * 64},
    "a line break": {"distribution": "x\n**ε = 0.01**", "version": "1", "sha256": None},
    "markup": {"distribution": "x`](y)", "version": "1", "sha256": None},
    "a long name": {"distribution": "x" * 101, "version": "1", "sha256": None},
    "a version with blanks": {"distribution": "x", "version": "1 **2**", "sha256": None},
    "a short hash": {"distribution": "x", "version": "1", "sha256": "0" * 63},
    "a number": {"distribution": "x", "version": 1, "sha256": None},
    "a list": {"distribution": ["x"], "version": "1", "sha256": None},
}


@pytest.mark.parametrize("what", MALFORMED)
def test_a_manifest_that_does_not_say_whose_code_it_is_is_refused(
    what: str, tmp_path: Path
) -> None:
    release = written(fitted("dp-score"), tmp_path / "release")
    stated = manifest_of(release)
    (release / "manifest.json").write_text(json.dumps(stated | {"method": MALFORMED[what]}))
    with pytest.raises(ReleaseError, match="whose code the method is"):
        read_release(release)


@pytest.mark.parametrize("version", [None, "", "0.14\n# x", "latest", 3])
def test_a_manifest_without_a_version_of_opendp_is_refused(version: object, tmp_path: Path) -> None:
    release = written(fitted("dp-score"), tmp_path / "release")
    (release / "manifest.json").write_text(json.dumps(manifest_of(release) | {"opendp": version}))
    with pytest.raises(ReleaseError, match="no version of opendp"):
        read_release(release)


def test_a_release_of_the_format_before_is_refused(tmp_path: Path) -> None:
    release = written(fitted("dp-score"), tmp_path / "release")
    (release / "manifest.json").write_text(json.dumps(manifest_of(release) | {"format": 3}))
    with pytest.raises(ReleaseError, match="another release format"):
        load_release(release)


@pytest.mark.parametrize("name", ["longsynth", "LongSynth", "x y", "-"])
def test_a_package_that_takes_our_name_or_has_none_is_refused(name: str, site: Path) -> None:
    install(site, name=name)
    with pytest.raises(Refused, match="no usable name"):
        fitted("honest")


def test_a_method_under_another_name_than_its_own_is_refused(site: Path) -> None:
    install(site, also="alias = elsewhere_methods:Honest\n")
    with pytest.raises(Refused, match="calls itself 'honest'"):
        method_named("alias")


def test_a_method_whose_name_is_markup_is_not_released() -> None:
    bundle = replace(fitted("dp-score"), method="x\n**ε = 0.01**")
    with pytest.raises(ReleaseError, match="name of a method"):
        release_files(Release(bundle))


def test_what_is_written_is_read_back() -> None:
    for found in (Origin(), Origin("a-b", "1!2.0+local", None), installed_here()):
        stated = {"distribution": found.distribution, "version": found.version}
        assert read_origin(stated | {"sha256": found.sha256}) == found
