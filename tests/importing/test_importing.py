"""Models of other libraries predict the same when they are ours."""

import json

import lightgbm as lgb
import numpy as np
import onnxruntime
import pandas as pd
import pytest
import treelite
import xgboost as xgb
from sklearn import ensemble, tree
from sklearn.linear_model import LinearRegression

import sapwood
from sapwood import BoostingClassifier, BoostingRanker, BoostingRegressor, from_lightgbm, from_xgboost, import_model
from sapwood.importing import ImportedModelError

N_ROWS = 400


def numbers(seed=0, missing=True):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(N_ROWS, 5))
    x[:, 1] = rng.integers(-3, 4, N_ROWS)
    x[:, 2] = np.round(x[:, 2], 1)
    if missing:
        x[rng.random(x.shape) < 0.1] = np.nan
    x[::17, 0], x[::19, 1] = 0.0, -0.0
    return x


def target(x):
    whole = np.nan_to_num(x)
    return whole[:, 0] + np.abs(whole[:, 1]) * whole[:, 2] + np.isnan(x[:, 3])


def frame(seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "size": np.where(rng.random(N_ROWS) < 0.1, np.nan, rng.normal(size=N_ROWS)),
            "color": pd.Categorical(rng.choice(["red", "green", "blé"], N_ROWS)),
            "town": pd.Categorical(rng.integers(0, 30, N_ROWS) * 3),
        }
    )


def frame_target(x):
    return np.nan_to_num(x["size"]) + (x["color"] == "red") * 2.0 + np.sin(x["town"].astype(int))


def thirds(y):
    return np.array(["a", "b", "c"])[np.digitize(y, np.quantile(y, [1 / 3, 2 / 3]))]


def rows(model, n_columns=5, missing=True):
    """New rows, some values of which are on thresholds of the model and beside."""
    x = numbers(1, missing)[:, :n_columns]
    for own in model.model_.trees[:5]:
        for f, t in zip(own.feature, own.threshold, strict=True):
            if 0 <= f < n_columns and np.isfinite(t) and abs(t) > 1e-30:  # LightGBM takes less for zero
                x[7:10, f] = t, np.nextafter(t, np.inf), np.nextafter(t, -np.inf)
    return x


def check(ours, peer, x, digits=1e-12):
    """Predictions, and what is made of the model afterwards."""
    if isinstance(ours, BoostingClassifier):
        np.testing.assert_allclose(ours.predict_proba(x), np.asarray(peer.predict_proba(x)), rtol=digits, atol=digits)
        assert (ours.predict(x) == peer.predict(x)).mean() > 0.99  # but for ties of rounded sums
    else:
        np.testing.assert_allclose(ours.predict(x), peer.predict(x), rtol=digits, atol=digits)
    raw = ours._raw_predict(x)
    found = ours.explain(x[:20])
    total = found.values.sum(axis=1) + found.base_values
    np.testing.assert_allclose(total.reshape(20, -1), raw[:20], rtol=1e-9, atol=1e-9)
    copy = type(ours).from_bytes(ours.to_bytes())
    np.testing.assert_array_equal(copy.predict(x), ours.predict(x))
    text = ours.model_.export("lightgbm", raw=True)
    if not ours.model_.schema.categories:
        again = lgb.Booster(model_str=text).predict(x, num_threads=1)
        np.testing.assert_allclose(again.reshape(len(x), -1), raw, rtol=1e-12, atol=1e-12)


class TestLightGbm:
    FEW = {"n_estimators": 8, "num_leaves": 8, "min_child_samples": 5, "n_jobs": 1, "verbose": -1}  # noqa: RUF012

    @pytest.mark.parametrize("missing", [True, False])
    @pytest.mark.parametrize(
        "way", [{}, {"boosting_type": "dart"}, {"boosting_type": "rf", "subsample": 0.5, "subsample_freq": 1}, {"objective": "l1"}]
    )
    def test_regressor(self, way, missing):
        x = numbers(missing=missing)
        peer = lgb.LGBMRegressor(**self.FEW, **way).fit(x, target(x))
        ours = import_model(peer)
        assert isinstance(ours, BoostingRegressor)
        check(ours, peer, rows(ours))

    def test_log_link(self):
        x = numbers()
        peer = lgb.LGBMRegressor(**self.FEW, objective="tweedie").fit(x, np.abs(target(x)))
        ours = import_model(peer)
        check(ours, peer, rows(ours))
        assert ours.model_.loss == "tweedie"

    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_classifier(self, n_classes):
        x = numbers()
        y = thirds(target(x))
        y[y == "c"] = "c" if n_classes == 3 else "b"
        peer = lgb.LGBMClassifier(**self.FEW).fit(x, y)
        check(import_model(peer), peer, numbers(1))

    def test_shapley_values(self):
        x = numbers()
        peer = lgb.LGBMRegressor(**self.FEW).fit(x, target(x))
        found, theirs = import_model(peer).explain(x), peer.predict(x, pred_contrib=True)
        np.testing.assert_allclose(found.values, theirs[:, :-1], atol=1e-9)

    def test_zero_as_missing(self):
        x = numbers()
        x[np.random.default_rng(3).random(x.shape) < 0.3] = 0.0
        peer = lgb.LGBMRegressor(**self.FEW, zero_as_missing=True).fit(x, target(x) + (x[:, 0] == 0))
        ours = import_model(peer)
        assert ours.missing == 0.0
        np.testing.assert_allclose(ours.predict(x), peer.predict(x), rtol=1e-12, atol=1e-12)

    def test_frame(self):
        x = frame()
        peer = lgb.LGBMRegressor(**self.FEW, min_data_per_group=5, cat_smooth=1, max_cat_to_onehot=1).fit(x, frame_target(x))
        ours = import_model(peer)
        assert ours.model_.schema.kind(1).levels == ("blé", "green", "red")
        new = frame(1)
        new.loc[3, "color"] = None
        check(ours, peer, new)
        new["color"] = new["color"].cat.add_categories("purple")
        new.loc[5:9, "color"] = "purple"
        np.testing.assert_allclose(ours.predict(new), peer.predict(new), rtol=1e-12)
        np.testing.assert_array_equal(ours.predict(new[["town", "size", "color"]]), ours.predict(new))

    def test_codes(self):
        x = numbers(missing=False)
        x[:, 3] = np.random.default_rng(2).integers(0, 600, N_ROWS)
        y = target(x) + np.sin(x[:, 3] * 7)
        data = lgb.Dataset(x, y, categorical_feature=[3], params={"verbose": -1})
        few = {"num_leaves": 31, "min_data_in_leaf": 2, "min_data_per_group": 1, "cat_smooth": 0.1, "cat_l2": 0, "max_cat_threshold": 500}
        peer = lgb.train({**few, "num_threads": 1, "verbose": -1}, data, 30)
        ours = import_model(peer)
        x[:5, 3] = 9999, np.nan, -1, 0, 1
        np.testing.assert_allclose(ours.predict(x), peer.predict(x), rtol=1e-12, atol=1e-12)

    def test_more_thresholds_than_bins_of_a_byte(self):
        x = np.random.default_rng(0).normal(size=(3000, 1))
        peer = lgb.LGBMRegressor(n_estimators=20, num_leaves=64, max_bin=2000, min_child_samples=1, n_jobs=1, verbose=-1).fit(
            x, np.sin(9 * x[:, 0])
        )
        ours = import_model(peer)
        assert np.diff(ours.model_.binning.begin)[0] > 254
        check(ours, peer, x)

    def test_ranker_and_file(self, tmp_path):
        x = numbers()
        peer = lgb.LGBMRanker(**self.FEW).fit(x, np.digitize(target(x), [0, 1, 2]), group=[20] * 20)
        peer.booster_.save_model(tmp_path / "model.txt")
        ours = from_lightgbm(tmp_path / "model.txt")
        assert ours.to_bytes() == import_model(str(tmp_path / "model.txt")).to_bytes()
        assert ours.to_bytes() == import_model((tmp_path / "model.txt").read_text()).to_bytes()
        assert ours.to_bytes() == from_lightgbm((tmp_path / "model.txt").read_text()).to_bytes()
        assert isinstance(ours, BoostingRanker)
        np.testing.assert_allclose(ours.predict(x), peer.predict(x), rtol=1e-12, atol=1e-12)

    def test_best_iteration(self):
        x = numbers()
        data = lgb.Dataset(x, target(x), params={"verbose": -1})
        watched = lgb.Dataset(numbers(1), -target(numbers(1)), reference=data)
        stop = lgb.early_stopping(2, verbose=False)
        peer = lgb.train({"num_threads": 1, "verbose": -1}, data, 30, valid_sets=[watched], callbacks=[stop])
        np.testing.assert_allclose(import_model(peer).predict(x), peer.predict(x), rtol=1e-12)

    def test_what_is_refused(self, tmp_path):
        x = numbers(missing=False)
        with pytest.raises(ImportedModelError, match="linear trees"):
            import_model(lgb.LGBMRegressor(**self.FEW, linear_tree=True).fit(x, target(x)))
        with pytest.raises(ImportedModelError, match="reg_sqrt"):
            import_model(lgb.LGBMRegressor(**self.FEW, reg_sqrt=True).fit(x, target(x)))
        with pytest.raises(ImportedModelError, match="objective 'cross_entropy_lambda' of LightGBM"):
            import_model(lgb.LGBMRegressor(**self.FEW, objective="cross_entropy_lambda").fit(x, x[:, 0] > 0))
        (tmp_path / "other").write_text("other")
        with pytest.raises(ImportedModelError, match="not a LightGBM model"):
            from_lightgbm(tmp_path / "other")


class TestXgboost:
    FEW = {"n_estimators": 8, "max_depth": 3, "n_jobs": 1}  # noqa: RUF012

    WAYS = {  # noqa: RUF012
        "squares": {},
        "dart": {"booster": "dart", "rate_drop": 0.5, "random_state": 0},
        "poisson": {"objective": "count:poisson"},
        "shares": {"objective": "reg:logistic"},
        "forest": {"num_parallel_tree": 3, "subsample": 0.5},
        "lossguide": {"grow_policy": "lossguide", "max_depth": 0, "max_leaves": 20},
        "deep": {"max_depth": 12, "min_child_weight": 0.1},
    }

    @pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
    def test_regressor(self, way):
        x = numbers()
        y = (target(x) > 0).astype(float) if way.get("objective") == "reg:logistic" else np.abs(target(x))
        peer = xgb.XGBRegressor(**{**self.FEW, **way}).fit(x, y)
        ours = import_model(peer)
        check(ours, peer, rows(ours), 1e-5)

    @pytest.mark.parametrize("n_classes", [2, 3])
    @pytest.mark.parametrize("n_parallel", [1, 2])
    def test_classifier(self, n_classes, n_parallel):
        x = numbers()
        y = np.digitize(target(x), [0, 1][: n_classes - 1])
        peer = xgb.XGBClassifier(**self.FEW, num_parallel_tree=n_parallel).fit(x, y)
        ours = import_model(peer)
        check(ours, peer, rows(ours), 1e-5)

    @pytest.mark.parametrize("strategy", ["one_output_per_tree", "multi_output_tree"])
    def test_two_outputs(self, strategy):
        x = numbers()
        peer = xgb.XGBRegressor(**self.FEW, multi_strategy=strategy).fit(x, np.column_stack([target(x), np.nan_to_num(x[:, 1]) % 3]))
        ours = import_model(peer)
        check(ours, peer, rows(ours), 1e-5)

    def test_labels(self):
        x = numbers()
        peer = xgb.XGBClassifier(**self.FEW).fit(x, np.column_stack([target(x) > 0, target(x) > 1]).astype(int))
        check(import_model(peer), peer, x, 1e-5)

    def test_shapley_values(self):
        x = numbers()
        peer = xgb.XGBClassifier(**self.FEW).fit(x, target(x) > 0)
        theirs = peer.get_booster().predict(xgb.DMatrix(x, nthread=1), pred_contribs=True)
        found = import_model(peer).explain(x)
        np.testing.assert_allclose(found.values, theirs[:, :-1], atol=1e-5)
        np.testing.assert_allclose(found.base_values, theirs[:, -1], atol=1e-5)

    @pytest.mark.parametrize("onehot", [1, 100])
    def test_frame(self, onehot):
        x, new = (one.assign(color=one["color"].cat.rename_categories({"blé": "blue"})) for one in (frame(), frame(1)))
        peer = xgb.XGBRegressor(**self.FEW, enable_categorical=True, max_cat_to_onehot=onehot).fit(x, frame_target(x))
        ours = import_model(peer)
        assert ours.model_.schema.kind(1).levels == ("blue", "green", "red")
        new.loc[3, "color"] = None
        check(ours, peer, new, 1e-5)

    def test_codes(self):
        x = numbers()
        x[:, 3] = np.random.default_rng(2).integers(0, 20, N_ROWS)
        types = ["q", "q", "q", "c", "q"]
        data = xgb.DMatrix(x, target(x) + np.sin(x[:, 3]), feature_types=types, enable_categorical=True, nthread=1)
        peer = xgb.train({"nthread": 1, "max_depth": 4}, data, 6)
        x[:3, 3] = 25, np.nan, 19
        new = xgb.DMatrix(x, feature_types=types, enable_categorical=True, nthread=1)
        np.testing.assert_allclose(import_model(peer).predict(x), peer.predict(new), rtol=1e-5, atol=1e-5)

    @pytest.mark.parametrize("name", ["model.json", "model.ubj"])
    def test_files(self, name, tmp_path):
        x = numbers()
        peer = xgb.XGBRegressor(**self.FEW).fit(x, target(x))
        peer.save_model(tmp_path / name)
        ours = from_xgboost(tmp_path / name)
        assert import_model(tmp_path / name).to_bytes() == ours.to_bytes()
        check(ours, peer, x, 1e-5)

    def test_older_documents(self):
        """One base score for all outputs."""
        x = numbers()
        peer = xgb.XGBClassifier(**self.FEW, base_score=0.5).fit(x, np.digitize(target(x), [0, 1]))
        document = json.loads(bytes(peer.get_booster().save_raw("json")))
        document["learner"]["learner_model_param"]["base_score"] = "5E-1"
        ours = sapwood.importing.xgboost.read_document(document, 10_000)
        np.testing.assert_allclose(ours.predict_proba(x), peer.predict_proba(x), rtol=1e-5)

    def test_best_iteration(self):
        x = numbers()
        peer = xgb.XGBRegressor(**{**self.FEW, "n_estimators": 50}, early_stopping_rounds=2)
        peer.fit(x, target(x), eval_set=[(numbers(1), -target(numbers(1)))], verbose=False)
        ours = import_model(peer)
        assert ours.best_iteration_ == peer.best_iteration + 1 < ours.n_iter_
        np.testing.assert_allclose(ours.predict(x), peer.predict(x), rtol=1e-5)
        booster = peer.get_booster()
        np.testing.assert_allclose(import_model(booster).predict(x), booster.predict(xgb.DMatrix(x, nthread=1)), rtol=1e-5)

    def test_ranker(self):
        x = numbers()
        peer = xgb.XGBRanker(**self.FEW).fit(x, np.digitize(target(x), [0, 1, 2]), group=[20] * 20)
        ours = import_model(peer)
        assert isinstance(ours, BoostingRanker)
        np.testing.assert_allclose(ours.predict(x), peer.predict(x), rtol=1e-5, atol=1e-6)

    def test_what_is_refused(self, tmp_path):
        x = numbers(missing=False)
        with pytest.raises(ImportedModelError, match="booster='gblinear' of XGBoost cannot be imported"):
            import_model(xgb.train({"booster": "gblinear", "nthread": 1}, xgb.DMatrix(x, target(x), nthread=1), 2))
        with pytest.raises(ImportedModelError, match="objective 'binary:hinge' of XGBoost"):
            import_model(xgb.XGBClassifier(n_estimators=1, objective="binary:hinge").fit(x, x[:, 0] > 0))
        with pytest.raises(ImportedModelError, match="levels that are not ASCII"):
            import_model(xgb.XGBRegressor(n_estimators=1, enable_categorical=True).fit(frame(), frame_target(frame())))
        (tmp_path / "other.json").write_text('{"a": 1}')
        with pytest.raises(ImportedModelError, match="not an XGBoost model"):
            from_xgboost(tmp_path / "other.json")


class TestSklearn:
    REGRESSORS = {  # noqa: RUF012
        "hist": ensemble.HistGradientBoostingRegressor(max_iter=8),
        "hist poisson": ensemble.HistGradientBoostingRegressor(max_iter=8, loss="poisson"),
        "hist quantile": ensemble.HistGradientBoostingRegressor(max_iter=8, loss="quantile", quantile=0.7),
        "boosting": ensemble.GradientBoostingRegressor(n_estimators=8),
        "boosting zero": ensemble.GradientBoostingRegressor(n_estimators=8, init="zero", loss="huber"),
        "forest": ensemble.RandomForestRegressor(8, random_state=0),
        "forest poisson": ensemble.RandomForestRegressor(3, criterion="poisson", random_state=0),
        "extra": ensemble.ExtraTreesRegressor(8, random_state=0),
        "tree": tree.DecisionTreeRegressor(max_depth=5),
    }
    CLASSIFIERS = {  # noqa: RUF012
        "hist": ensemble.HistGradientBoostingClassifier(max_iter=8),
        "boosting": ensemble.GradientBoostingClassifier(n_estimators=8),
        "forest": ensemble.RandomForestClassifier(8, random_state=0),
        "extra": ensemble.ExtraTreesClassifier(8, random_state=0),
        "tree": tree.DecisionTreeClassifier(max_depth=5),
        "extra tree": tree.ExtraTreeClassifier(max_depth=5, random_state=0),
    }

    @pytest.mark.parametrize("name", REGRESSORS)
    def test_regressor(self, name):
        missing = "boosting" not in name
        x = numbers(missing=missing)
        peer = self.REGRESSORS[name].fit(x, np.abs(target(x)))
        ours = import_model(peer)
        check(ours, peer, rows(ours, missing=missing))

    @pytest.mark.parametrize("name", CLASSIFIERS)
    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_classifier(self, name, n_classes):
        missing = name != "boosting"
        x = numbers(missing=missing)
        y = thirds(target(x))
        y[y == "c"] = "c" if n_classes == 3 else "b"
        peer = self.CLASSIFIERS[name].fit(x, y, sample_weight=np.random.default_rng(0).random(N_ROWS))
        ours = import_model(peer)
        check(ours, peer, rows(ours, missing=missing))

    def test_exponential_loss(self):
        x = numbers(missing=False)
        peer = ensemble.GradientBoostingClassifier(n_estimators=8, loss="exponential").fit(x, target(x) > 0)
        check(import_model(peer), peer, x)

    @pytest.mark.parametrize("model", [ensemble.RandomForestRegressor(5, random_state=0), tree.DecisionTreeRegressor()])
    def test_two_outputs(self, model):
        x = numbers(missing=False)
        peer = model.fit(x, np.column_stack([target(x), x[:, 0]]))
        ours = import_model(peer)
        check(ours, peer, rows(ours, missing=False))

    def test_frame(self):
        x = frame()
        peer = ensemble.HistGradientBoostingRegressor(max_iter=8, min_samples_leaf=3).fit(x, frame_target(x))
        ours = import_model(peer)
        new = frame(1)
        new["color"] = new["color"].cat.add_categories("purple")
        new.loc[3, "color"] = None
        new.loc[5:9, "color"] = "purple"
        check(ours, peer, new)

    def test_codes(self):
        x = numbers()
        x[:, 3] = np.random.default_rng(2).integers(0, 20, N_ROWS) * 2
        peer = ensemble.HistGradientBoostingRegressor(max_iter=8, categorical_features=[3], min_samples_leaf=3).fit(
            x, target(x) + x[:, 3] % 3
        )
        x[:3, 3] = 25, np.nan, 4
        np.testing.assert_allclose(import_model(peer).predict(x), peer.predict(x), rtol=1e-12, atol=1e-12)

    def test_what_is_refused(self):
        x = numbers(missing=False)
        with pytest.raises(ImportedModelError, match=r"LinearRegression cannot be imported"):
            import_model(LinearRegression().fit(x, target(x)))
        with pytest.raises(ImportedModelError, match=r"init=LinearRegression\(\) of GradientBoostingRegressor cannot be imported"):
            import_model(ensemble.GradientBoostingRegressor(n_estimators=1, init=LinearRegression()).fit(x, target(x)))
        with pytest.raises(ImportedModelError, match="several outputs"):
            import_model(tree.DecisionTreeClassifier().fit(x, x[:, :2] > 0))
        with pytest.raises(ImportedModelError, match="models of builtins cannot be imported; choose from lightgbm, xgboost, sklearn"):
            import_model(3)


class TestAfterwards:
    def test_training_goes_on(self):
        """Also with more thresholds than bins of a byte."""
        x = np.random.default_rng(0).normal(size=(1500, 2))
        y = np.sin(9 * x[:, 0])
        few = {"n_estimators": 10, "num_leaves": 64, "min_child_samples": 1, "n_jobs": 1, "verbose": -1}
        for max_bin in (100, 1000):
            ours = import_model(lgb.LGBMRegressor(**few, max_bin=max_bin).fit(x, y))
            assert (np.diff(ours.model_.binning.begin).max() > 254) == (max_bin == 1000)
            more = BoostingRegressor(max_iter=5, min_samples_leaf=1).fit(x, y, init_model=ours, eval_sets={"all": (x, y)})
            assert more.n_iter_ == 15
            assert more.score(x, y) > ours.score(x, y)
            np.testing.assert_allclose(2 * more.evals_result_["all"]["loss"][-1], np.mean((more.predict(x) - y) ** 2))
            np.testing.assert_array_equal(more.predict(x, rounds=10), ours.predict(x))

    def test_training_does_not_go_on_from_votes(self):
        x = numbers(missing=False)
        ours = import_model(ensemble.RandomForestClassifier(2).fit(x, x[:, 0] > 0))
        with pytest.raises(ValueError, match="an imported model whose trees add up probabilities"):
            BoostingClassifier(max_iter=1).fit(x, x[:, 0] > 0, init_model=ours)
        assert ours.fit(x, x[:, 0] > 0).score(x, x[:, 0] > 0) > 0.9  # but anew

    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_votes_are_exported(self, n_classes):
        x = numbers()
        peer = ensemble.ExtraTreesClassifier(4, max_depth=4, random_state=0).fit(x, np.digitize(target(x), [0, 1][: n_classes - 1]))
        ours, expected = import_model(peer), peer.predict_proba(x)
        session = onnxruntime.InferenceSession(ours.export("onnx").SerializeToString(), providers=["CPUExecutionProvider"])
        label, probabilities = session.run(None, {"X": x})
        np.testing.assert_allclose(probabilities, expected, rtol=1e-12, atol=1e-12)
        assert label.tolist() == peer.predict(x).tolist()
        found = treelite.gtil.predict(ours.export("treelite"), x, nthread=1).reshape(expected.shape)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(lgb.Booster(model_str=ours.export("lightgbm")).predict(x), expected, rtol=1e-12, atol=1e-12)
        booster = xgb.Booster({"nthread": 1}, model_file=bytearray(json.dumps(ours.export("xgboost")).encode()))
        np.testing.assert_allclose(booster.predict(xgb.DMatrix(x, nthread=1)), expected, rtol=1e-5, atol=1e-5)


def test_from_one_library_to_the_next():
    """LightGBM -> ours -> XGBoost, C: what is imported is exported as any other."""
    x = frame()
    peer = lgb.LGBMClassifier(**TestLightGbm.FEW, min_data_per_group=5).fit(x, frame_target(x) > 0)
    ours = import_model(peer)
    document = ours.export("xgboost")
    booster = xgb.Booster({"nthread": 1}, model_file=bytearray(json.dumps(document).encode()))
    codes = x.assign(color=x["color"].cat.codes, town=x["town"].cat.codes).to_numpy(dtype=float)
    table = xgb.DMatrix(codes, feature_types=booster.feature_types, feature_names=booster.feature_names, enable_categorical=True, nthread=1)
    np.testing.assert_allclose(booster.predict(table), peer.predict_proba(x)[:, 1], rtol=1e-5)
    assert "sapwood_class" in ours.export("c")


class TestDamage:
    """Whatever is wrong with a file, it is one error; nothing hangs."""

    def test_lightgbm(self):
        x = numbers()
        text = lgb.LGBMRegressor(**TestLightGbm.FEW).fit(x, target(x)).booster_.model_to_string()
        changes = [
            ("left_child=", "left_child=0 "),
            ("split_feature=", "split_feature=99 "),
            ("threshold=", "threshold=a "),
            ("leaf_value=", "leaf_value=nan "),
            ("max_feature_idx=4", "max_feature_idx=1"),
            ("num_tree_per_iteration=1", "num_tree_per_iteration=3"),
            ("num_tree_per_iteration=1\n", ""),
            ("decision_type=", "other="),
        ]
        for old, new in changes:
            assert old in text
            with pytest.raises(ImportedModelError):
                from_lightgbm(text.replace(old, new))
        for end in range(100, len(text) // 3, 97):
            try:
                from_lightgbm(text[:end]).predict(x)
            except ImportedModelError as error:
                assert str(error)

    def test_xgboost(self, tmp_path):
        x = numbers()
        path = tmp_path / "model.json"
        xgb.XGBRegressor(**TestXgboost.FEW).fit(x, target(x)).save_model(path)
        text = path.read_text()

        def changed(**fields):
            document = json.loads(text)
            document["learner"]["gradient_booster"]["model"]["trees"][0] |= fields
            return json.dumps(document)

        tree = json.loads(text)["learner"]["gradient_booster"]["model"]["trees"][0]
        cycle = [0 if child > 0 else child for child in tree["left_children"]]
        shared = [child if child < 0 else tree["left_children"][0] for child in tree["right_children"]]
        for damaged in (
            changed(left_children=cycle),
            changed(right_children=shared),
            changed(left_children=[10**6] * len(cycle)),
            changed(split_indices=[77] * len(cycle)),
            changed(split_conditions=["x"] * len(cycle)),
            changed(default_left=[]),
            text.replace('"num_feature"', '"other"'),
            text[: len(text) // 2],
        ):
            path.write_text(damaged)
            with pytest.raises(ImportedModelError):
                from_xgboost(path)
