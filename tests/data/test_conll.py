"""Columns of tokens, CRF++'s templates, and F1 of chunks by the CoNLL rule."""

from __future__ import annotations

import gzip
import tracemalloc

import pytest

from gapsvm import Template, chunk_f1, read_conll
from gapsvm.io.conll import parse_conll, split_labels
from gapsvm.losses.chunks import chunks

TEXT = b"He PRP B-NP\nruns VBZ B-VP\n\n\nUp RB O\r\n"


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_sequences_are_read(pack, tmp_path):
    (tmp_path / "f").write_bytes(pack(TEXT))
    found = read_conll(tmp_path / "f")
    assert found == [[["He", "PRP", "B-NP"], ["runs", "VBZ", "B-VP"]], [["Up", "RB", "O"]]]
    X, y = split_labels(found, "f")
    assert X[1] == [["Up", "RB"]]
    assert y == [["B-NP", "B-VP"], ["O"]]
    assert parse_conll(b"", "f") == parse_conll(b"\n\n", "f") == []


def test_what_is_no_such_file_is_named_with_its_line(tmp_path):
    for text, message in (
        (b"a b\n\na b c\n", "f, line 3: 3 columns, but the lines before have 2"),
        (b"a b\n\xff b\n", "f, line 2: no UTF-8"),
    ):
        with pytest.raises(ValueError, match=message):
            parse_conll(text, "f")
    with pytest.raises(ValueError, match="two columns at least"):
        split_labels(parse_conll(b"a\n", "f"), "f")
    (tmp_path / "f").write_bytes(gzip.compress(TEXT)[:-9])
    with pytest.raises(ValueError, match="damaged"):
        read_conll(tmp_path / "f")
    with pytest.raises(OSError, match="No such file"):
        read_conll(tmp_path / "none")


def test_templates_name_features_as_crfpp_does():
    template = Template.parsed(
        "# words\nU00:%x[-2,0]\nU01:%x[0,0]/%x[1,0]\n\nU02:100%x[0,1]%\nU03\nB\n"
    )
    X, _ = split_labels(parse_conll(TEXT, "f"), "f")
    assert template.features(X) == [
        [
            ["U00:_B-2", "U01:He/runs", "U02:100PRP%", "U03"],
            ["U00:_B-1", "U01:runs/_B+1", "U02:100VBZ%", "U03"],
        ],
        [["U00:_B-2", "U01:Up/_B+1", "U02:100RB%", "U03"]],
    ]
    assert template.n_columns == 2
    with pytest.raises(ValueError, match="sequence 0 has 1 columns, but the template needs 2"):
        template.features([[["a"]]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("B01:%x[0,0]", "line 1: 'B01:%x.*steps between labels"),
        ("U00:%x[0]", "line 1: .*no template line"),
        ("\nX00:%x[0,0]", "line 2: .*no template line"),
        ("B\n# U", "no line that begins with U"),
    ],
)
def test_what_is_no_template(text, message):
    with pytest.raises(ValueError, match=message):
        Template.parsed(text)


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("B-NP I-NP O", [(0, 1, "NP")]),
        ("I-NP I-NP B-NP", [(0, 1, "NP"), (2, 2, "NP")]),
        ("B-NP I-VP", [(0, 0, "NP"), (1, 1, "VP")]),
        ("O O", []),
        ("S-A B-A E-A I-A", [(0, 0, "A"), (1, 2, "A"), (3, 3, "A")]),
        ("", []),
    ],
)
def test_chunks_by_the_rule(tags, expected):
    assert chunks(tags.split()) == expected


def test_f1_of_chunks():
    truth = [["B-NP", "I-NP", "O"], ["B-VP"]]
    told = [["B-NP", "I-NP", "B-NP"], ["O"]]
    score = chunk_f1(truth, told)
    assert (score.n_true, score.n_predicted, score.n_right) == (2, 2, 1)
    assert score.f1 == score.precision == score.recall == 0.5
    assert chunk_f1(truth, truth).f1 == 1.0
    assert chunk_f1([["O"]], [["O"]]).f1 == 0.0
    with pytest.raises(ValueError, match="sequence 0 has 3 tags in y_true, but 1"):
        chunk_f1(truth, [["O"], ["O"]])


def test_a_bomb_is_refused_in_little_memory(tmp_path):
    path = tmp_path / "t.conll.gz"
    path.write_bytes(gzip.compress(b"a B\n" + b"1" * (64 << 20), compresslevel=1))
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=r"in line 2 the line .* no data shrink so far"):
            read_conll(path)
        assert tracemalloc.get_traced_memory()[1] < 40 << 20
    finally:
        tracemalloc.stop()
