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

    def test_lines_in_a_pipe(self, capfd):
        regressor(verbose=1, max_iter=20).fit(X, Y)
        out, err = capfd.readouterr()
        assert out == "" and "[20/20] 6 leaves" in err
        assert len(err.splitlines()) == 12  # the first, ten tenths, the last
        regressor(verbose=0).fit(X, Y)
        assert capfd.readouterr() == ("", "")

    @pytest.mark.parametrize("where", ["terminal", "pipe"])
    def test_the_end_says_how_training_ended(self, where, monkeypatch, capfd):
        terminal = self.terminal(monkeypatch) if where == "terminal" else None
        fitted = regressor(verbose=1, max_iter=300, early_stopping=True, n_iter_no_change=4, learning_rate=0.5).fit(X, Y)
        written = (capfd.readouterr().err if terminal is None else terminal.getvalue()).replace("\n", " ")
        best, loss = fitted.best_iteration_, min(fitted.evals_result_["validation"]["loss"])
        assert best < fitted.n_iter_ < 300
        assert f"stopped at {fitted.n_iter_}, best {best}: train loss" in " ".join(written.split())
        assert f"validation loss {loss:.5f}" in " ".join(written.split())

    def test_the_end_fits_on_a_line(self, monkeypatch):
        monkeypatch.setenv("COLUMNS", "80")
        terminal = self.terminal(monkeypatch)
        fitted = regressor(verbose=1, max_iter=1000, early_stopping=True, n_iter_no_change=4, learning_rate=0.5).fit(X, Y)
        last = [line for line in terminal.getvalue().replace("\r", "\n").splitlines() if "Boosting" in line][-1]
        assert f"stopped at {fitted.n_iter_}, best {fitted.best_iteration_}: train loss" in last
        assert "…" not in last

    def test_the_end_without_stopping(self, capfd):
        regressor(verbose=2, max_iter=3).fit(X, Y)
        assert "finished 3 rounds, " in capfd.readouterr().out

    def test_no_bar_if_not_verbose(self, monkeypatch):
        terminal = self.terminal(monkeypatch)
        regressor(verbose=0).fit(X, Y)
        assert terminal.getvalue() == ""

    def test_the_bar_is_closed_after_an_error(self, monkeypatch):
        self.terminal(monkeypatch)
        with pytest.raises(ValueError, match="LearningRate"):
            regressor().fit(X, Y, callbacks=[ProgressBar(), LearningRate([0.1])])
        assert regressor(verbose=1).fit(X, Y).n_iter_ == 12
