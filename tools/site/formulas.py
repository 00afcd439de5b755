"""A hook of the site: formulas become MathML, which a browser draws without a script.

Not every computer has a font for mathematics, so the site brings the part that it needs of one
(STIX Two, under the SIL Open Font Licence). Nothing is fetched from anywhere.
"""

import html
import re
from importlib.resources import files
from pathlib import Path
from typing import Any
from unicodedata import lookup

from fontTools.subset import Options, Subsetter, load_font, save_font
from latex2mathml.converter import convert

FORMULA = re.compile(
    r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>([.,;:)]*)', re.DOTALL
)
DRAWN_BY_THE_BROWSER = {*range(0x1D400, 0x1D800), ord("√"), ord("‾"), ord("¯"), 0x302, 0x303}
ALPHABETS = {"double-struck": "DOUBLE-STRUCK", "script": "SCRIPT", "bold": "BOLD"}
LONG = 60  # signs of LaTeX
TIGHT = 'lspace="0" rspace="0"'
MENDED = [
    ("<mo><</mo>", "<mo>&lt;</mo>"),
    (r"<mi>([Α-Ω])</mi>", r'<mi mathvariant="normal">\1</mi>'),
    (r"<mo>([|‖])</mo>", rf'<mo stretchy="false" {TIGHT}>\1</mo>'),
    ("<mo>/</mo>", f"<mo {TIGHT}>/</mo>"),
    (
        r'"true" fence="true" minsize="[^"]+" maxsize="[^"]+"',
        '"false"',
    ),  # ( and )² would differ in height
    (
        r"<msup>(<mi>\w</mi>)<mi>([′″])</mi></msup>",
        rf"\1<mo {TIGHT}>\2</mo>",
    ),  # is raised by itself
    ("<mo>:</mo><mo>=</mo>", "<mo>≔</mo>"),
    (r'<mi>([a-zA-Z]{2,})</mi>(?!<mo stretchy="false">\()', r"<mo>\1</mo>"),
    (
        r'<mo>([a-zA-Z]{2,})</mo>(?=<mo stretchy="false">\()',
        r'<mo lspace="0.1em" rspace="0">\1</mo>',
    ),
    (r"<mo>([a-zA-Z]{2,})</mo>", r'<mo lspace="0.1em" rspace="0.17em">\1</mo>'),
]
_used = {*range(0x20, 0x7F), *DRAWN_BY_THE_BROWSER}


def on_page_content(content: str, **_: Any) -> str:
    return FORMULA.sub(lambda found: _formula(*found.groups()), content)


def on_post_build(config: Any, **_: Any) -> None:
    options = Options(flavor="woff", layout_features=["*"])
    font = load_font(str(files("ziamath.fonts") / "STIXTwoMath-Regular.ttf"), options)
    subsetter = Subsetter(options)
    subsetter.populate(unicodes=_used)
    subsetter.subset(font)
    save_font(font, str(Path(config["site_dir"]) / "formulas.woff"), options)


def _formula(tag: str, bracket: str, latex: str, mark: str) -> str:
    display = "block" if bracket == "[" else "inline"
    made = _mended(html.unescape(convert(_latex(latex), display=display)))
    _used.update(map(ord, made))
    wide = " long" if len(latex) > LONG and display == "inline" else ""  # scrolls on a phone
    return f'<{tag} class="formula{wide}">{made}{mark}</{tag}>'


def _latex(written: str) -> str:
    return re.sub(r"\\tag\{(.*?)\}", r"\\qquad(\1)", html.unescape(written).strip())


def _mended(mathml: str) -> str:
    """What browsers read differently from the converter, put as they expect it."""
    for found, instead in MENDED:
        mathml = re.sub(found, instead, mathml)
    return re.sub(r'<(m[in]) mathvariant="([a-z-]+)">(\w)</\1>', _letter, mathml)


def _letter(found: re.Match[str]) -> str:
    tag, variant, letter = found.groups()
    if variant not in ALPHABETS:
        return found[0]
    size = "CAPITAL" if letter.isupper() else "SMALL"
    name = f"{ALPHABETS[variant]} {size} {letter.upper()}"
    try:
        character = lookup(f"MATHEMATICAL {name}")
    except KeyError:  # the old ones: ℤ, ℝ, ℋ
        character = lookup(name)
    return f"<{tag}>{character}</{tag}>"
