"""Progress bars."""

import io
import sys
from types import SimpleNamespace

import pytest

from sapwood.callbacks import LearningRate, ProgressBar
from sapwood.callbacks import progress as progress_module
from tests.callbacks.example import X, Y, regressor


class TestProgress:
    def terminal(self, monkeypatch):
        written = io.StringIO()
        written.isatty = lambda: True
        monkeypatch.setattr(sys, "stderr", written)
        return written

    def test_rich_in_a_terminal(self, monkeypatch):
        terminal = self.terminal(monkeypatch)
        regressor(verbose=1).fit(X, Y)
        assert "Boosting" in terminal.getvalue()
        assert "12/12" in terminal.getvalue()

    def test_lines_in_a_terminal_without_rich(self, monkeypatch):
        terminal = self.terminal(monkeypatch)
        monkeypatch.setattr(progress_module, "find_spec", lambda name: None)
        regressor(verbose=1).fit(X, Y)
        assert "[12/12] 6 leaves" in terminal.getvalue()

    def test_tqdm_in_a_notebook(self, monkeypatch, capfd):
        shell = SimpleNamespace(kernel=object())
        monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
        regressor(verbose=1).fit(X, Y)
        assert "Boosting: 100%" in capfd.readouterr().err

    def test_no_bar_without_a_terminal(self, capfd):
        regressor(verbose=1).fit(X, Y)
        regressor(verbose=0).fit(X, Y)
        assert capfd.readouterr() == ("", "")

    def test_no_bar_if_not_verbose(self, monkeypatch):
        terminal = self.terminal(monkeypatch)
        regressor(verbose=0).fit(X, Y)
        assert terminal.getvalue() == ""

    def test_the_bar_is_closed_after_an_error(self, monkeypatch):
        self.terminal(monkeypatch)
        with pytest.raises(ValueError, match="LearningRate"):
            regressor().fit(X, Y, callbacks=[ProgressBar(), LearningRate([0.1])])
        assert regressor(verbose=1).fit(X, Y).n_iter_ == 12
