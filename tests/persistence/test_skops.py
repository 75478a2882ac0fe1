"""Pipelines with every estimator can be stored with skops and the trusted types of Lapwing."""

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import lapwing

sio = pytest.importorskip("skops.io", reason='needs skops: pip install "lapwing[skops]"')
ESTIMATORS = [
    name
    for name in lapwing.__all__
    if hasattr(getattr(lapwing, name), "fit") and name != "KNNGraph"
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_loaded_pipeline_predicts_the_same(name):
    X, truth = make_moons(60, noise=0.05, random_state=0)
    cls = getattr(lapwing, name)
    quantities = np.isnan(cls().unlabeled) if isinstance(cls().unlabeled, float) else False
    y = np.full(60, np.nan if quantities else -1)
    y[:10] = truth[:10]
    model = make_pipeline(StandardScaler(), cls()).fit(X, y)
    data = sio.dumps(model)
    assert set(sio.get_untrusted_types(data=data)) <= set(lapwing.TRUSTED_TYPES)
    again = sio.loads(data, trusted=lapwing.TRUSTED_TYPES)
    assert np.array_equal(again.predict(X), model.predict(X))
