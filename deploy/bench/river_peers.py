"""River's learners and Vowpal Wabbit as peers: each scores a record before it learns it, as liftstream does."""

import numpy as np

import beside


def logistic(classes):
    from river import compose, linear_model, multiclass, optim, preprocessing

    numbers = compose.SelectType(float, int) | preprocessing.StandardScaler()
    texts = compose.SelectType(str) | preprocessing.OneHotEncoder()
    model = linear_model.LogisticRegression(optimizer=optim.AdaGrad(0.1))
    return (numbers + texts) | (model if classes == 2 else multiclass.OneVsRestClassifier(model))


def forest(classes):
    from river import forest

    return forest.ARFClassifier(n_models=10, seed=1)


def patches(classes):
    from river import ensemble

    return ensemble.SRPClassifier(n_models=10, seed=1)


def leveraging(classes):
    from river import ensemble, tree

    return ensemble.LeveragingBaggingClassifier(tree.HoeffdingTreeClassifier(), n_models=10, seed=1)


RIVER = {"logistic regression": logistic, "ARF": forest, "SRP": patches, "leveraging bagging": leveraging}
WABBIT = "Vowpal Wabbit"
NAMES = [*RIVER, WABBIT]


def run(bench, stream, name):
    """The run of a peer; None where it takes two classes only."""
    if name == WABBIT:
        if len(stream.classes) > 2:
            return None
        return bench.run(stream, name, beside.versions("vowpalwabbit"), lambda: wabbit(stream))
    settings = {"models": 10, "seed": 1, **beside.versions("river")}
    return bench.run(stream, name, settings, lambda: river(stream, RIVER[name](len(stream.classes))))


def river(stream, model):
    """Scores before anything was learnt are the same for all classes, as are those that a peer does not give."""
    K, p = len(stream.classes), np.empty((len(stream.y), len(stream.classes)))
    for i, (x, y) in enumerate(zip(stream.features().to_dict("records"), stream.y)):
        x = {k: v for k, v in x.items() if v is not None and v == v}
        given = model.predict_proba_one(x)
        p[i] = [max(given.get(c, 0), 0) for c in range(K)]
        if not p[i].sum() > 0:
            p[i] = 1 / K
        model.learn_one(x, int(y))
    return p


def wabbit(stream):
    import vowpalwabbit

    def word(v):
        return str(v).replace(" ", "_").replace(":", "_").replace("|", "_")

    frame = stream.features()
    vw = vowpalwabbit.Workspace("--loss_function logistic --link logistic --quiet")
    numeric = [c for c in frame if frame[c].dtype.kind in "if"]
    mean, sd = frame[numeric][:1000].mean(), frame[numeric][:1000].std().replace(0, 1)
    p = []
    for values, y in zip(frame.itertuples(index=False), stream.y):
        parts = [
            f"{word(c)}={word(v)}" if isinstance(v, str) else f"{word(c)}:{(v - mean[c]) / sd[c]}"
            for c, v in zip(frame.columns, values)
            if v is not None and v == v
        ]
        example = vw.parse(f"{1 if y else -1} | " + " ".join(parts))
        p.append(vw.predict(example))
        vw.learn(example)
        vw.finish_example(example)
    return np.stack([1 - np.array(p), np.array(p)], 1)
