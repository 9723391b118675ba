"""`sapwood report`."""

from tests.cli.processes import assert_refused, call


def test_report(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    run = call(
        capsys, "report", "m.sapwood", "d.csv", "--output", "r.html", "--sensitive", "colour", "--reference", "d.csv", "--title", "A <b>"
    )
    assert (run.returncode, run.stdout) == (0, ""), run.stderr
    page = (folder / "r.html").read_text()
    assert page.lower().startswith("<!doctype html>")
    assert "A &lt;b&gt;" in page
    assert "400 rows written to r.html" in run.stderr
    assert_refused(call(capsys, "report", "m.sapwood", "d.csv", "--slice-by", "none"), "--slice-by none")
    assert_refused(call(capsys, "report", "m.sapwood", "d.csv", "--output", "no/r.html"), "does not exist")
