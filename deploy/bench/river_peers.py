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


def run(bench, stream, name, delay=0, labels=None):
    """The run of a peer whose labels come delay records late, or as labels say, whose name in the settings delay is
    then; None where it takes two classes only."""
    if name == WABBIT and len(stream.classes) > 2:
        return None
    labels = labels or beside.Labels(len(stream.y), delay)
    late = {"delay": delay} if delay else {}
    if name == WABBIT:
        settings = {**late, **beside.versions("vowpalwabbit")}
        return bench.run(stream, name, settings, lambda: wabbit(stream, labels))
    settings = {"models": 10, "seed": 1, **late, **beside.versions("river")}
    return bench.run(stream, name, settings, lambda: river(stream, RIVER[name](len(stream.classes)), labels))


def river(stream, model, labels):
    """Scores before anything was learnt are the same for all classes, as are those that a peer does not give."""
    K, p = len(stream.classes), np.empty((len(stream.y), len(stream.classes)))
    records = [{k: v for k, v in x.items() if v is not None and v == v} for x in stream.features().to_dict("records")]
    learnt = 0
    for i, x in enumerate(records):
        for j in labels.order[learnt : labels.known[i]]:
            model.learn_one(records[j], int(stream.y[j]))
        learnt = labels.known[i]
        given = model.predict_proba_one(x)
        p[i] = [max(given.get(c, 0), 0) for c in range(K)]
        if not p[i].sum() > 0:
            p[i] = 1 / K
    return p


def wabbit(stream, labels):
    import vowpalwabbit

    def word(v):
        return str(v).replace(" ", "_").replace(":", "_").replace("|", "_")

    frame = stream.features()
    vw = vowpalwabbit.Workspace("--loss_function logistic --link logistic --quiet")
    numeric = [c for c in frame if frame[c].dtype.kind in "if"]
    mean, sd = frame[numeric][:1000].mean(), frame[numeric][:1000].std().replace(0, 1)
    texts, p, learnt = [], [], 0
    for i, values in enumerate(frame.itertuples(index=False)):
        parts = [
            f"{word(c)}={word(v)}" if isinstance(v, str) else f"{word(c)}:{(v - mean[c]) / sd[c]}"
            for c, v in zip(frame.columns, values)
            if v is not None and v == v
        ]
        texts.append(" ".join(parts))
        for j in labels.order[learnt : labels.known[i]]:
            example = vw.parse(f"{1 if stream.y[j] else -1} | {texts[j]}")
            vw.learn(example)
            vw.finish_example(example)
        learnt = labels.known[i]
        example = vw.parse(f"| {texts[i]}")
        p.append(vw.predict(example))
        vw.finish_example(example)
    return np.stack([1 - np.array(p), np.array(p)], 1)
