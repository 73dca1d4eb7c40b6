#!/usr/bin/env python3
"""Trees by LightGBM on the same records, for TestLightGBM.

usage: golden.py > golden.json    (pip install lightgbm numpy)

Features are whole numbers of few values, so that every value has its own bin on both sides. The first tree starts at
log-odds 0: gradients are +-w/2 and curvatures w/4, exact in LightGBM's float32.
"""
import json

import lightgbm
import numpy

N, F = 600, 5
PARAMS = {"objective": "binary", "num_leaves": 8, "learning_rate": .1, "lambda_l2": 10., "min_data_in_leaf": 1,
          "min_sum_hessian_in_leaf": 1e-3, "boost_from_average": False, "max_bin": 255, "min_data_in_bin": 1,
          "feature_pre_filter": False, "verbose": -1, "num_threads": 1, "deterministic": True}


def flat(node):
    """Preorder: [feature, threshold] of a split, [value] of a leaf."""
    if "leaf_value" in node:
        return [[node["leaf_value"]]]
    return [[node["split_feature"], node["threshold"]]] + flat(node["left_child"]) + flat(node["right_child"])


def main():
    rng = numpy.random.default_rng(11)
    x = numpy.stack([rng.integers(0, k, N) for k in (40, 31, 23, 17, 9)], axis=1)
    z = 1.5 * ((x[:, 0] > 19) ^ (x[:, 1] > 12)) + (x[:, 2] > 15) * (x[:, 3] / 8 - 1) - .7
    y = (rng.random(N) < 1 / (1 + numpy.exp(-z))).astype(int)
    w = rng.integers(1, 4, N)
    out = {"rows": x.tolist(), "class": y.tolist(), "weight": w.tolist(), "params": PARAMS, "trees": {}}
    for name, weight in (("plain", None), ("weighted", w)):
        data = lightgbm.Dataset(x.astype(float), y, weight=weight, params=PARAMS)
        one = lightgbm.train(PARAMS, data, 1)
        many = lightgbm.train(PARAMS, lightgbm.Dataset(x.astype(float), y, weight=weight, params=PARAMS), 30)
        p = many.predict(x.astype(float))
        loss = numpy.average(-numpy.where(y == 1, numpy.log(p), numpy.log1p(-p)), weights=weight)
        out["trees"][name] = {"tree": flat(one.dump_model()["tree_info"][0]["tree_structure"]), "loss": loss}
    print(json.dumps(out))


main()
