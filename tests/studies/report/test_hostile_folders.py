"""Folders from elsewhere: one sentence, nothing from outside them, and no waiting."""

import os
import socket
import threading
import time
import urllib.request

import pytest
from bers_studies.report.curves import read_runs
from bers_studies.report.markdown import to_html
from bers_studies.report.page import page
from bers_studies.report.server import serve
from bers_studies.runner.journal import write_journal

from bers.errors import FileError

RECORD = {"method": "BERS", "panel": "Sphere", "best": [1.0, 0.5]}
HEADER = {"seed": 0, "name": "static", "config": {}, "code": "abc", "provenance": {"seconds": 1.0}}


@pytest.fixture
def folder(tmp_path):
    found = tmp_path / "study"
    found.mkdir()
    write_journal(found / "trial-0.jsonl", HEADER, [RECORD])
    return found


def test_a_sound_folder_is_shown(folder):
    (folder / "tables.md").write_text("| a | b |\n|---|---|\n| 1 | 2 |\n")
    assert "<td>1</td>" in page([folder])


@pytest.mark.parametrize(
    "content", [b"|", b"| a |", b"| a |\n", b"|\n|\n|", b"#", b"", b"\n\n\n", b"|\x00|"]
)
def test_bad_tables_are_text(folder, content):
    (folder / "tables.md").write_bytes(content)
    assert "<main>" in page([folder])


def test_tables_that_are_no_text_are_one_sentence(folder):
    (folder / "tables.md").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FileError, match=r"tables.md is not text in UTF-8. Run the study again"):
        page([folder])


def test_what_is_no_table_is_shown_as_text():
    assert to_html("| only a line") == "<p>| only a line</p>"
    assert to_html("| a |\n| b |\n| c |") == "<p>| a | | b | | c |</p>"


@pytest.mark.parametrize(
    "change",
    [
        {"provenance": ["a"]},
        {"provenance": {"seconds": "long"}},
        {"config": 3},
        {"name": ["static"]},
        {"code": None},
        {"seed": "0"},
        {"seed": True},
        {"seed": 1.0},
    ],
)
def test_bad_headers_are_one_sentence(folder, change):
    write_journal(folder / "trial-0.jsonl", {**HEADER, **change}, [RECORD])
    with pytest.raises(FileError, match=r"trial-0.jsonl, line 1: \w+ is no \w+"):
        page([folder])


@pytest.mark.parametrize(
    "record",
    [
        {"method": "BERS", "best": "high"},
        {"method": "BERS", "best": [[1.0], 2.0]},
        {"method": ["BERS"], "best": [1.0]},
        {"method": "BERS", "weights": [1.0]},
        {"method": "PER", "makeup": [[1.0]]},
        {"method": "BERS", "best": [1.0], "at": 3},
    ],
)
def test_bad_records_are_one_sentence(folder, record):
    write_journal(folder / "trial-0.jsonl", {**HEADER, "name": "other"}, [record])
    with pytest.raises(FileError, match=r"study cannot be shown: its records are not what a study"):
        page([folder])


@pytest.mark.parametrize("name", ["tables.md", "picture.png", "trial-9.jsonl"])
def test_pipes_are_refused_without_waiting(folder, name):
    os.mkfifo(folder / name)
    with pytest.raises(FileError, match=rf"{name} is not a plain file"):
        page([folder])


@pytest.mark.parametrize("name", ["tables.md", "picture.png", "trial-9.jsonl"])
def test_nothing_from_outside_the_folder_is_shown(folder, name):
    secret = folder.parent / "secret"
    secret.write_text("a word that nobody should see")
    (folder / name).symlink_to(secret)
    with pytest.raises(FileError, match=rf"{name} is a link to another place, .* not followed"):
        page([folder])


def test_what_is_no_picture_is_not_embedded(folder):
    (folder / "picture.png").write_text("a word that nobody should see")
    with pytest.raises(FileError, match=r"picture.png is no PNG"):
        page([folder])


def test_journals_of_one_seed_do_not_count_twice(folder):
    for i in range(10):
        write_journal(folder / f"copy-{i}.jsonl", HEADER, [RECORD])
    for read in (read_runs, lambda where: page([where])):
        with pytest.raises(FileError, match=r"are of one seed, 0. Move one of them out"):
            read(folder)


def test_connections_that_ask_for_nothing_are_closed(folder):
    with serve([folder], patience=0.3) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            before = threading.active_count()
            idle = [socket.create_connection(server.server_address) for _ in range(5)]
            idle[0].sendall(b"GET / HTTP/1.1\r\nHost: 127")
            for one in idle:
                one.settimeout(5)
                assert one.recv(100) == b""  # closed by the other end
                one.close()
            with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/") as shown:
                assert b"<main>" in shown.read()
            end = time.monotonic() + 5
            while threading.active_count() > before and time.monotonic() < end:
                time.sleep(0.02)
            assert threading.active_count() <= before
        finally:
            server.shutdown()
            thread.join()
